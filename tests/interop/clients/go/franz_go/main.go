// franz-go plays the scenario of ../../README.md.
package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"

	"odradek/interop/scenario"
)

var codecs = map[string]kgo.CompressionCodec{
	"none":   kgo.NoCompression(),
	"gzip":   kgo.GzipCompression(),
	"snappy": kgo.SnappyCompression(),
	"lz4":    kgo.Lz4Compression(),
	"zstd":   kgo.ZstdCompression(),
}

var acks = map[string]kgo.Acks{"0": kgo.NoAck(), "1": kgo.LeaderAck(), "all": kgo.AllISRAcks()}

type franz struct {
	bootstrap string
	admin     *kadm.Client
	limit     context.Context
}

func main() {
	limit, cancel := context.WithTimeout(context.Background(), 2*scenario.Limit)
	defer cancel()
	scenario.Main(func(bootstrap string) (scenario.Calls, error) {
		client, err := kgo.NewClient(kgo.SeedBrokers(bootstrap))
		return &franz{bootstrap, kadm.NewClient(client), limit}, err
	})
}

func (f *franz) Create(topics []string, partitions int, configs map[string]string) error {
	given := map[string]*string{}
	for name, value := range configs {
		given[name] = kadm.StringPtr(value)
	}
	created, err := f.admin.CreateTopics(f.limit, int32(partitions), 1, given, topics...)
	return errors.Join(err, created.Error())
}

func (f *franz) Topics() ([]string, error) {
	listed, err := f.admin.ListTopics(f.limit)
	return listed.Names(), err
}

func (f *franz) Partitions(topic string) (int, error) {
	listed, err := f.admin.ListTopics(f.limit, topic)
	if err != nil {
		return 0, err
	}
	return len(listed[topic].Partitions), refused(listed[topic].Err)
}

func (f *franz) Config(topic, name string) (string, error) {
	described, err := f.admin.DescribeTopicConfigs(f.limit, topic)
	if err != nil {
		return "", err
	}
	resource, err := described.On(topic, nil)
	for _, config := range resource.Configs {
		if config.Key == name {
			return config.MaybeValue(), errors.Join(err, resource.Err)
		}
	}
	return "", fmt.Errorf("no %s: %w", name, errors.Join(err, resource.Err))
}

func (f *franz) Send(topic string, partition int32, records []scenario.Record, how scenario.How) ([]int64, error) {
	options := []kgo.Opt{kgo.SeedBrokers(f.bootstrap), kgo.RecordPartitioner(kgo.ManualPartitioner())}
	if how.Codec != "" {
		options = append(options, kgo.ProducerBatchCompression(codecs[how.Codec]))
	}
	if how.Acks != "" {
		options = append(options, kgo.RequiredAcks(acks[how.Acks]))
	}
	if how.Acks != "" && !how.Idempotent {
		options = append(options, kgo.DisableIdempotentWrite())
	}
	if len(records) > 1 {
		options = append(options, kgo.ProducerLinger(scenario.Limit)) // one batch, which leaves with the flush
	}
	client, err := kgo.NewClient(options...)
	if err != nil {
		return nil, err
	}
	defer client.Close()
	made := []*kgo.Record{}
	var failed error
	for _, record := range records {
		each := &kgo.Record{Topic: topic, Partition: partition, Key: record.Key, Value: record.Value}
		each.Timestamp = time.UnixMilli(record.Timestamp)
		for _, header := range record.Headers {
			each.Headers = append(each.Headers, kgo.RecordHeader{Key: header.Key, Value: header.Value})
		}
		made = append(made, each)
		client.Produce(f.limit, each, func(_ *kgo.Record, err error) {
			if err != nil {
				failed = err
			}
		})
	}
	if err := client.Flush(f.limit); err != nil {
		return nil, err
	}
	offsets := []int64{}
	for _, each := range made {
		offsets = append(offsets, each.Offset)
	}
	return offsets, refused(failed)
}

func (f *franz) Read(topic string, partition int32, start, count int64) ([]scenario.Record, error) {
	low, high, err := f.ends(topic, partition)
	if err != nil {
		return nil, err
	}
	offset := kgo.NewOffset().At(start)
	if start == scenario.All {
		start, offset = low, kgo.NewOffset().AtStart()
	}
	if count == scenario.All {
		count = high - start
	}
	assigned := map[string]map[int32]kgo.Offset{topic: {partition: offset}}
	client, err := kgo.NewClient(kgo.SeedBrokers(f.bootstrap), kgo.ConsumePartitions(assigned))
	if err != nil {
		return nil, err
	}
	defer client.Close()
	found := []scenario.Record{}
	for int64(len(found)) < count {
		fetches := client.PollFetches(f.limit)
		if err := fetches.Err(); err != nil {
			return nil, err
		}
		for _, each := range fetches.Records() {
			found = append(found, recordOf(each))
		}
	}
	return found, nil
}

func (f *franz) Follow(topic string, lines <-chan string, read func(scenario.Record)) error {
	assigned := map[string]map[int32]kgo.Offset{topic: {0: kgo.NewOffset().AtStart()}}
	client, err := kgo.NewClient(
		kgo.SeedBrokers(f.bootstrap),
		kgo.RecordPartitioner(kgo.ManualPartitioner()),
		kgo.ConsumePartitions(assigned),
	)
	if err != nil {
		return err
	}
	defer client.Close()
	for line := range lines {
		sent := client.ProduceSync(f.limit, &kgo.Record{Topic: topic, Partition: 0, Value: []byte(line)})
		if err := sent.FirstErr(); err != nil {
			return err
		}
		fetches := client.PollRecords(f.limit, 1)
		if err := f.limit.Err(); err != nil {
			return err
		}
		for fetches.NumRecords() == 0 { // told of a broker that is down
			fetches = client.PollRecords(f.limit, 1)
		}
		read(recordOf(fetches.Records()[0]))
	}
	return nil
}

func recordOf(each *kgo.Record) scenario.Record {
	headers := []scenario.Header{}
	for _, header := range each.Headers {
		headers = append(headers, scenario.Header{Key: header.Key, Value: header.Value})
	}
	return scenario.Record{
		Offset: each.Offset, Timestamp: each.Timestamp.UnixMilli(), Key: each.Key, Value: each.Value, Headers: headers,
	}
}

func (f *franz) Join(topic, group string, count int) ([]scenario.Place, error) {
	client, err := kgo.NewClient(
		kgo.SeedBrokers(f.bootstrap),
		kgo.ConsumerGroup(group),
		kgo.ConsumeTopics(topic),
		kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()),
		kgo.DisableAutoCommit(),
	)
	if err != nil {
		return nil, err
	}
	defer client.Close()
	read, found := []*kgo.Record{}, []scenario.Place{}
	for len(read) < count {
		fetches := client.PollRecords(f.limit, count-len(read))
		if err := fetches.Err(); err != nil {
			return nil, err
		}
		read = append(read, fetches.Records()...)
	}
	for _, each := range read {
		found = append(found, scenario.Place{int64(each.Partition), each.Offset})
	}
	return found, client.CommitRecords(f.limit, read...)
}

func (f *franz) OffsetAt(topic string, timeMs int64) (int64, error) {
	listed, err := f.admin.ListOffsetsAfterMilli(f.limit, timeMs, topic)
	if err != nil {
		return 0, err
	}
	found, _ := listed.Lookup(topic, 0)
	if found.Timestamp == -1 { // then it is the end of the partition
		return scenario.NoOffset, found.Err
	}
	return found.Offset, found.Err
}

func (f *franz) Ends(topic string) (int64, int64, error) { return f.ends(topic, 0) }

func (f *franz) ends(topic string, partition int32) (int64, int64, error) {
	starts, err := f.admin.ListStartOffsets(f.limit, topic)
	if err != nil {
		return 0, 0, err
	}
	ends, err := f.admin.ListEndOffsets(f.limit, topic)
	low, _ := starts.Lookup(topic, partition)
	high, _ := ends.Lookup(topic, partition)
	return low.Offset, high.Offset, errors.Join(err, low.Err, high.Err)
}

func (f *franz) DeleteRecords(topic string, before int64) error {
	offsets := kadm.Offsets{}
	offsets.AddOffset(topic, 0, before, -1)
	deleted, err := f.admin.DeleteRecords(f.limit, offsets)
	return errors.Join(err, deleted.Error())
}

func (f *franz) AddPartitions(topic string, total int) error {
	added, err := f.admin.UpdatePartitions(f.limit, total, topic)
	return errors.Join(err, added.Error())
}

func (f *franz) SetConfig(topic, name, value string) error {
	change := kadm.AlterConfig{Op: kadm.SetConfig, Name: name, Value: &value}
	altered, err := f.admin.AlterTopicConfigs(f.limit, []kadm.AlterConfig{change}, topic)
	if err != nil {
		return err
	}
	return altered[0].Err
}

func (f *franz) Delete(topic string) error {
	_, err := f.admin.DeleteTopic(f.limit, topic)
	return err
}

func refused(err error) error {
	var known *kerr.Error
	if errors.As(err, &known) {
		return scenario.Refused{Name: known.Message}
	}
	return err
}
