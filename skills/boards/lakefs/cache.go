package lakefs

import (
	"container/list"
	"sync"
)

// cachedObject is an object's content and its ETag, quotes included.
type cachedObject struct {
	etag string
	data []byte
}

// cache keeps the objects used last, up to a number of bytes.
type cache struct {
	max int64

	mu    sync.Mutex
	held  int64                       // guarded by mu
	order *list.List                  // of *cacheItem, last used in front; guarded by mu
	items map[objectKey]*list.Element // guarded by mu
}

type cacheItem struct {
	key    objectKey
	object cachedObject
}

// cost counts the content and a guess at what it takes to keep it.
func (i *cacheItem) cost() int64 {
	return int64(len(i.object.data) + len(i.key.ref) + len(i.key.path) + 128)
}

func newCache(maxBytes int64) *cache {
	return &cache{max: maxBytes, order: list.New(), items: map[objectKey]*list.Element{}}
}

func (c *cache) get(key objectKey) (cachedObject, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	e, ok := c.items[key]
	if !ok {
		return cachedObject{}, false
	}
	c.order.MoveToFront(e)
	return e.Value.(*cacheItem).object, true
}

func (c *cache) put(key objectKey, o cachedObject) {
	item := &cacheItem{key: key, object: o}
	c.mu.Lock()
	defer c.mu.Unlock()
	if old, ok := c.items[key]; ok {
		c.drop(old)
	}
	if item.cost() > c.max {
		return
	}
	c.items[key] = c.order.PushFront(item)
	c.held += item.cost()
	for c.held > c.max {
		c.drop(c.order.Back())
	}
}

// drop removes an element; c.mu is held.
func (c *cache) drop(e *list.Element) {
	item := c.order.Remove(e).(*cacheItem)
	delete(c.items, item.key)
	c.held -= item.cost()
}
