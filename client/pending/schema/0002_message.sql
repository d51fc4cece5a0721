-- The message of a send whose answer is not known, to send it again under its key.
ALTER TABLE entries ADD COLUMN message BLOB;
