// Package scenario is what ../../README.md tells, for clients in Go: the order of steps, and how they are printed.
// A program gives what its client does as Calls.
package scenario

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"sort"
	"strconv"
	"strings"
	"time"
)

const (
	Limit      = 60 * time.Second
	firstMs    = 1_700_000_000_000
	searchedMs = 1_700_000_023_500
	pastEndMs  = 1_800_000_000_000
	batch      = 10
)

var configs = map[string]string{"max.message.bytes": "20000", "retention.ms": "-1"}

// Header of a record.
type Header struct {
	Key   string
	Value []byte
}

// Record with its bytes; nil for null.
type Record struct {
	Offset, Timestamp int64
	Key, Value        []byte
	Headers           []Header
}

// MarshalJSON prints a record as the README has it.
func (r Record) MarshalJSON() ([]byte, error) {
	headers := [][]any{}
	for _, each := range r.Headers {
		headers = append(headers, []any{each.Key, text(each.Value)})
	}
	return json.Marshal([]any{r.Offset, r.Timestamp, text(r.Key), text(r.Value), headers})
}

func text(data []byte) any {
	if data == nil {
		return nil
	}
	return string(data)
}

// Place of a record: its partition and its offset.
type Place [2]int64

// How a producer is told to send: empty for what it is not told.
type How struct {
	Codec, Acks string
	Idempotent  bool
}

// All is for Calls.Read: from the beginning, or to the end.
const All = -1

// NoOffset is for Calls.OffsetAt: no record is late enough.
const NoOffset = -1

// Refused is an error of the broker, by the client's own name for it.
type Refused struct{ Name string }

func (r Refused) Error() string { return r.Name }

// Calls are what a client does.
type Calls interface {
	Create(topics []string, partitions int, configs map[string]string) error
	Topics() ([]string, error)
	// Partitions counts them; Refused for a topic that is not there.
	Partitions(topic string) (int, error)
	Config(topic, name string) (string, error)
	// Send sends all records in one batch and gives their offsets, or Refused.
	Send(topic string, partition int32, records []Record, how How) ([]int64, error)
	Read(topic string, partition int32, start, count int64) ([]Record, error)
	// Follow has one producer and one consumer: each line is sent, and read again.
	Follow(topic string, lines <-chan string, read func(Record)) error
	// Join reads records as a member of a group, and commits them and no more.
	Join(topic, group string, count int) ([]Place, error)
	OffsetAt(topic string, timeMs int64) (int64, error)
	Ends(topic string) (earliest, latest int64, err error)
	DeleteRecords(topic string, before int64) error
	AddPartitions(topic string, total int) error
	SetConfig(topic, name, value string) error
	Delete(topic string) error
}

// Main is the whole program of a client.
func Main(connect func(bootstrap string) (Calls, error)) {
	mode, bootstrap, rest := os.Args[1], os.Args[2], os.Args[3:]
	calls := must(connect(bootstrap))
	switch mode {
	case "play":
		play(calls, rest[0], strings.Split(rest[1], ","))
	case "read":
		for _, topic := range rest {
			show(map[string]any{"topic": topic, "records": must(calls.Read(topic, 0, All, All))})
		}
	case "join":
		show(map[string]any{"records": must(calls.Join(rest[0], rest[1], must(strconv.Atoi(rest[3]))))})
	case "follow":
		check(calls.Follow(rest[0], lines(), func(read Record) {
			show(map[string]any{"offset": read.Offset, "value": text(read.Value)})
		}))
	}
}

func lines() <-chan string {
	given := make(chan string)
	go func() {
		for scanner := bufio.NewScanner(os.Stdin); scanner.Scan(); {
			given <- scanner.Text()
		}
		close(given)
	}()
	return given
}

func play(calls Calls, topic string, codecs []string) {
	changed := topic + "-changed"
	check(calls.Create([]string{topic, changed}, 3, configs))
	tell("created", nil)
	found := map[string]string{}
	for name := range configs {
		found[name] = must(calls.Config(topic, name))
	}
	tell("described", fields{"partitions": must(calls.Partitions(topic)), "configs": found})
	produce(calls, topic, codecs)
	consume(calls, topic)
	change(calls, changed)
	fail(calls, topic)
	check(calls.Delete(changed))
	left := []string{}
	for _, name := range must(calls.Topics()) {
		if name == topic || name == changed {
			left = append(left, name)
		}
	}
	sort.Strings(left)
	tell("deleted", fields{"topics": left})
}

func produce(calls Calls, topic string, codecs []string) {
	for at, codec := range codecs {
		how := How{Codec: codec, Acks: "all", Idempotent: true}
		tell("produced", fields{"codec": codec, "offsets": must(calls.Send(topic, 0, records(at, codec), how))})
	}
	for _, acks := range []string{"1", "0"} {
		must(calls.Send(topic, 1, one("acks-"+acks), How{Acks: acks}))
	}
	values := []string{}
	for _, record := range must(calls.Read(topic, 1, 0, 2)) {
		values = append(values, string(record.Value))
	}
	tell("acks", fields{"values": values})
	tell("defaults", fields{"offset": must(calls.Send(topic, 2, one("default"), How{}))[0]})
}

func consume(calls Calls, topic string) {
	tell("consumed", fields{"records": must(calls.Read(topic, 0, All, All))})
	later := must(calls.Read(topic, 0, 15, All))
	tell("from_offset", fields{"first": later[0].Offset, "count": len(later)})
	found, pastEnd := must(calls.OffsetAt(topic, searchedMs)), must(calls.OffsetAt(topic, pastEndMs))
	tell("by_time", fields{"found": orNull(found), "past_end": orNull(pastEnd)})
	earliest, latest, err := calls.Ends(topic)
	check(err)
	tell("offsets", fields{"earliest": earliest, "latest": latest})
}

func change(calls Calls, topic string) {
	must(calls.Send(topic, 0, records(0, "none"), How{}))
	check(calls.DeleteRecords(topic, 7))
	low, _, err := calls.Ends(topic)
	check(err)
	tell("records_deleted", fields{"low": low, "first": must(calls.Read(topic, 0, All, All))[0].Offset})
	check(calls.AddPartitions(topic, 5))
	tell("partitions_added", fields{"partitions": must(calls.Partitions(topic))})
	check(calls.SetConfig(topic, "max.message.bytes", "30000"))
	tell("altered", fields{"value": must(calls.Config(topic, "max.message.bytes"))})
}

func fail(calls Calls, topic string) {
	_, err := calls.Send(topic, 0, one(strings.Repeat("x", 25_000)), How{Codec: "none"})
	tell("too_large", fields{"error": refusal(err)})
	_, err = calls.Partitions(topic + "-unknown")
	tell("unknown_topic", fields{"error": refusal(err)})
}

func refusal(err error) any {
	if refused, ok := err.(Refused); ok {
		return refused.Name
	}
	check(err)
	return nil
}

func records(at int, codec string) []Record {
	made := []Record{}
	for n := range batch {
		offset := int64(at*batch + n)
		record := Record{Offset: offset, Timestamp: firstMs + 1000*offset}
		if n%2 == 0 {
			record.Key = []byte(fmt.Sprintf("key-%d", n))
		}
		if n != 8 {
			record.Value = []byte(fmt.Sprintf("%s %d ü€", codec, n))
		}
		record.Headers = []Header{{"codec", []byte(codec)}, {"n", []byte(strconv.Itoa(n))}, {"empty", []byte{}}}
		made = append(made, record)
	}
	return made
}

func one(value string) []Record {
	return []Record{{Timestamp: firstMs, Value: []byte(value)}}
}

func orNull(offset int64) any {
	if offset == NoOffset {
		return nil
	}
	return offset
}

type fields map[string]any

func tell(step string, said fields) {
	line := map[string]any{"step": step}
	for name, value := range said {
		line[name] = value
	}
	show(line)
}

func show(line any) {
	encoder := json.NewEncoder(os.Stdout)
	check(encoder.Encode(line))
}

func must[T any](value T, err error) T {
	check(err)
	return value
}

func check(err error) {
	if err != nil {
		panic(err)
	}
}
