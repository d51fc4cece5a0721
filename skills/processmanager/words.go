package processmanager

import (
	"fmt"
	"strings"
)

// warningCode says what a report warns of.
type warningCode int

const (
	warnNoHistory warningCode = iota
	warnPresentState
	warnCoarse
	warnTruncated
	warnSkipped
	warnNoBoards
	warnBoards
	warnFuture
	warnTextPeriod
	warnAssignee
	warnDueDate
)

// warning is a remark on a report, told in the reader's language.
type warning struct {
	code warningCode
	n    int
	text string
}

// words are the texts of one language.
type words struct {
	title       string
	months      [12]string // as in a date
	shortMonths [12]string
	weekdays    [7]string // from Sunday, short

	completed, created, moved, inProgress, blocked, overdue, dueSoon, comments string
	velocity, points, previousWeek, estimate, medianCycle                      string
	card, board, list, assignee, label, due, at, since, days, cycle, from, to  string
	byBoard, byAssignee, byLabel, remarks, request                             string
	nobody, quiet, boards, workspaces                                          string
	dayUnit, hourUnit                                                          string
	more                                                                       string // with one %d
	warnings                                                                   map[warningCode]string
}

// languageOf reduces a language tag to a language there is.
func languageOf(tag string) (string, error) {
	lang, _, _ := strings.Cut(strings.ReplaceAll(strings.ToLower(tag), "_", "-"), "-")
	if wordsOf(lang) == nil {
		return "", invalid(`language must be "en" or "uk"`)
	}
	return lang, nil
}

// wordsOf returns the texts of a language, or nil.
func wordsOf(lang string) *words {
	switch lang {
	case langEnglish:
		return english()
	case langUkrainian:
		return ukrainian()
	}
	return nil
}

// warning is the sentence for w.
func (w *words) warning(x warning) string {
	text := w.warnings[x.code]
	switch {
	case strings.Contains(text, "%d"):
		return fmt.Sprintf(text, x.n)
	case strings.Contains(text, "%s"):
		return fmt.Sprintf(text, x.text)
	}
	return text
}

func english() *words {
	return &words{
		title:       "Weekly report",
		months:      [12]string{"January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November", "December"},
		shortMonths: [12]string{"Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"},
		weekdays:    [7]string{"Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"},
		completed:   "Completed", created: "Created", moved: "Moved", inProgress: "In progress", blocked: "Blocked",
		overdue: "Overdue", dueSoon: "Due in the next 7 days", comments: "Comments",
		velocity: "Velocity", points: "Points", previousWeek: "previous week", estimate: "estimate", medianCycle: "median cycle time",
		card: "Card", board: "Board", list: "List", assignee: "Assignee", label: "Label", due: "Due", at: "When", since: "Since",
		days: "Days", cycle: "Cycle", from: "From", to: "To",
		byBoard: "By board", byAssignee: "By assignee", byLabel: "By label", remarks: "Remarks", request: "Your request",
		nobody: "nobody", quiet: "Nothing happened in this period, and nothing is open.", boards: "Boards", workspaces: "Workspaces",
		dayUnit: "d", hourUnit: "h", more: "… and %d more",
		warnings: map[warningCode]string{
			warnNoHistory:    "The board source keeps no history: created, completed, moved, comments and velocity are not known.",
			warnPresentState: "In progress, blocked, overdue and due cards are as of now, not as of the end of the period.",
			warnCoarse:       "The history comes from snapshots: times are those of the snapshots, and changes in between are not seen.",
			warnTruncated:    "The history is longer than the limit; its oldest part was left out.",
			warnSkipped:      "Entries of the history that could not be read and are missing: %d.",
			warnNoBoards:     "There are no boards to report on.",
			warnBoards:       "There are %d boards, more than one report covers; name boards or a workspace to see the others.",
			warnFuture:       "The period has not begun yet.",
			warnTextPeriod:   "The period in the text is longer than %d days; the default period is shown.",
			warnAssignee:     "No card is assigned to %s.",
			warnDueDate:      "Cards with a due date that is not of the form YYYY-MM-DD: %d.",
		},
	}
}

func ukrainian() *words {
	return &words{
		title:       "Тижневий звіт",
		months:      [12]string{"січня", "лютого", "березня", "квітня", "травня", "червня", "липня", "серпня", "вересня", "жовтня", "листопада", "грудня"},
		shortMonths: [12]string{"січ", "лют", "бер", "кві", "тра", "чер", "лип", "сер", "вер", "жов", "лис", "гру"},
		weekdays:    [7]string{"нд", "пн", "вт", "ср", "чт", "пт", "сб"},
		completed:   "Завершено", created: "Створено", moved: "Переміщено", inProgress: "У роботі", blocked: "Заблоковано",
		overdue: "Прострочено", dueSoon: "Термін у найближчі 7 днів", comments: "Коментарі",
		velocity: "Швидкість", points: "Бали", previousWeek: "попередній тиждень", estimate: "оцінка", medianCycle: "медіанний час циклу",
		card: "Картка", board: "Дошка", list: "Список", assignee: "Виконавець", label: "Мітка", due: "Термін", at: "Коли", since: "Відколи",
		days: "Днів", cycle: "Цикл", from: "Звідки", to: "Куди",
		byBoard: "За дошками", byAssignee: "За виконавцями", byLabel: "За мітками", remarks: "Зауваги", request: "Ваш запит",
		nobody: "нікого", quiet: "За цей період нічого не сталося, і відкритих карток немає.", boards: "Дошки", workspaces: "Робочі простори",
		dayUnit: "д", hourUnit: "год", more: "… і ще %d",
		warnings: map[warningCode]string{
			warnNoHistory:    "Джерело дошок не веде історії: створені, завершені та переміщені картки, коментарі й швидкість невідомі.",
			warnPresentState: "Картки в роботі, заблоковані, прострочені та з близьким терміном показано станом на зараз, а не на кінець періоду.",
			warnCoarse:       "Історію складено зі знімків: час подій – це час знімків, а зміни між ними не видно.",
			warnTruncated:    "Історія довша за обмеження; найдавнішу її частину пропущено.",
			warnSkipped:      "Не вдалося прочитати записів історії: %d.",
			warnNoBoards:     "Немає дошок для звіту.",
			warnBoards:       "Дошок усього %d – більше, ніж охоплює один звіт; назвіть дошки або робочий простір, щоб побачити інші.",
			warnFuture:       "Період ще не почався.",
			warnTextPeriod:   "Період у тексті довший за %d днів; показано типовий період.",
			warnAssignee:     "Немає карток, призначених на %s.",
			warnDueDate:      "Карток із терміном, який не є датою РРРР-ММ-ДД: %d.",
		},
	}
}
