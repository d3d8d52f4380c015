// Sarama plays the scenario of ../../README.md.
package main

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/IBM/sarama"

	"odradek/interop/scenario"
)

var codecs = map[string]sarama.CompressionCodec{
	"none":   sarama.CompressionNone,
	"gzip":   sarama.CompressionGZIP,
	"snappy": sarama.CompressionSnappy,
	"lz4":    sarama.CompressionLZ4,
	"zstd":   sarama.CompressionZSTD,
}

var acks = map[string]sarama.RequiredAcks{
	"0": sarama.NoResponse, "1": sarama.WaitForLocal, "all": sarama.WaitForAll,
}

type player struct {
	brokers []string
	client  sarama.Client
	admin   sarama.ClusterAdmin
}

func main() {
	scenario.Main(func(bootstrap string) (scenario.Calls, error) {
		config := sarama.NewConfig()
		config.Version = sarama.V4_0_0_0
		brokers := []string{bootstrap}
		client, err := sarama.NewClient(brokers, config)
		if err != nil {
			return nil, err
		}
		admin, err := sarama.NewClusterAdminFromClient(client)
		return &player{brokers, client, admin}, err
	})
}

func (p *player) Create(topics []string, partitions int, configs map[string]string) error {
	given := map[string]*string{}
	for name, value := range configs {
		given[name] = &value
	}
	detail := &sarama.TopicDetail{NumPartitions: int32(partitions), ReplicationFactor: 1, ConfigEntries: given}
	for _, topic := range topics {
		if err := p.admin.CreateTopic(topic, detail, false); err != nil {
			return err
		}
	}
	return nil
}

func (p *player) Topics() ([]string, error) {
	listed, err := p.admin.ListTopics()
	names := []string{}
	for name := range listed {
		names = append(names, name)
	}
	return names, err
}

func (p *player) Partitions(topic string) (int, error) {
	described, err := p.admin.DescribeTopics([]string{topic})
	if err != nil {
		return 0, refused(err)
	}
	if described[0].Err != sarama.ErrNoError {
		return 0, refused(described[0].Err)
	}
	return len(described[0].Partitions), nil
}

func (p *player) Config(topic, name string) (string, error) {
	resource := sarama.ConfigResource{Type: sarama.TopicResource, Name: topic, ConfigNames: []string{name}}
	entries, err := p.admin.DescribeConfig(resource)
	if err != nil {
		return "", err
	}
	return entries[0].Value, nil
}

func (p *player) Send(topic string, partition int32, records []scenario.Record, how scenario.How) ([]int64, error) {
	config := sarama.NewConfig()
	config.Producer.Return.Successes = true // a SyncProducer must be told
	config.Producer.Partitioner = sarama.NewManualPartitioner
	if how.Codec != "" {
		config.Version = sarama.V4_0_0_0 // the default has no zstd
		config.Producer.Compression = codecs[how.Codec]
	}
	if how.Acks != "" {
		config.Producer.RequiredAcks = acks[how.Acks]
	}
	if how.Idempotent {
		config.Producer.Idempotent = true
		config.Net.MaxOpenRequests = 1
	}
	config.Producer.Flush.Messages = len(records) // one batch
	producer, err := sarama.NewSyncProducer(p.brokers, config)
	if err != nil {
		return nil, err
	}
	messages := []*sarama.ProducerMessage{}
	for _, record := range records {
		messages = append(messages, messageOf(topic, partition, record))
	}
	if err := errors.Join(producer.SendMessages(messages), producer.Close()); err != nil {
		return nil, refused(err)
	}
	offsets := []int64{}
	for _, each := range messages {
		offsets = append(offsets, each.Offset)
	}
	return offsets, nil
}

func messageOf(topic string, partition int32, record scenario.Record) *sarama.ProducerMessage {
	made := &sarama.ProducerMessage{Topic: topic, Partition: partition, Timestamp: time.UnixMilli(record.Timestamp)}
	if record.Key != nil {
		made.Key = sarama.ByteEncoder(record.Key)
	}
	if record.Value != nil {
		made.Value = sarama.ByteEncoder(record.Value)
	}
	for _, header := range record.Headers {
		made.Headers = append(made.Headers, sarama.RecordHeader{Key: []byte(header.Key), Value: header.Value})
	}
	return made
}

func (p *player) Read(topic string, partition int32, start, count int64) ([]scenario.Record, error) {
	low, high, err := p.ends(topic, partition)
	if err != nil {
		return nil, err
	}
	offset := start
	if start == scenario.All {
		start, offset = low, sarama.OffsetOldest
	}
	if count == scenario.All {
		count = high - start
	}
	consumer, err := sarama.NewConsumerFromClient(p.client)
	if err != nil {
		return nil, err
	}
	defer consumer.Close()
	assigned, err := consumer.ConsumePartition(topic, partition, offset)
	if err != nil {
		return nil, err
	}
	defer assigned.Close()
	found := []scenario.Record{}
	limit := time.After(scenario.Limit)
	for int64(len(found)) < count {
		select {
		case each := <-assigned.Messages():
			found = append(found, recordOf(each))
		case <-limit:
			return nil, fmt.Errorf("%d of %d records", len(found), count)
		}
	}
	return found, nil
}

func (p *player) Follow(topic string, lines <-chan string, read func(scenario.Record)) error {
	config := sarama.NewConfig()
	config.Version = sarama.V4_0_0_0
	config.Producer.Return.Successes = true
	config.Producer.Partitioner = sarama.NewManualPartitioner
	config.Producer.Idempotent = true
	config.Producer.RequiredAcks = sarama.WaitForAll
	config.Net.MaxOpenRequests = 1
	config.Producer.Retry.Max = 200 // by default it gives up within a second
	config.Metadata.Retry.Max = 200
	producer, err := sarama.NewSyncProducer(p.brokers, config)
	if err != nil {
		return err
	}
	defer producer.Close()
	consumer, err := sarama.NewConsumer(p.brokers, config)
	if err != nil {
		return err
	}
	defer consumer.Close()
	assigned, err := consumer.ConsumePartition(topic, 0, sarama.OffsetOldest)
	if err != nil {
		return err
	}
	defer assigned.Close()
	for line := range lines {
		record := scenario.Record{Timestamp: time.Now().UnixMilli(), Value: []byte(line)}
		if _, _, err := producer.SendMessage(messageOf(topic, 0, record)); err != nil {
			return err
		}
		select {
		case each := <-assigned.Messages():
			read(recordOf(each))
		case <-time.After(scenario.Limit):
			return fmt.Errorf("%s did not come", line)
		}
	}
	return nil
}

func recordOf(each *sarama.ConsumerMessage) scenario.Record {
	headers := []scenario.Header{}
	for _, header := range each.Headers {
		headers = append(headers, scenario.Header{Key: string(header.Key), Value: header.Value})
	}
	return scenario.Record{
		Offset: each.Offset, Timestamp: each.Timestamp.UnixMilli(), Key: each.Key, Value: each.Value, Headers: headers,
	}
}

func (p *player) Join(topic, group string, count int) ([]scenario.Place, error) {
	config := sarama.NewConfig()
	config.Version = sarama.V4_0_0_0
	config.Consumer.Offsets.Initial = sarama.OffsetOldest
	config.Consumer.Offsets.AutoCommit.Enable = false
	joined, err := sarama.NewConsumerGroup(p.brokers, group, config)
	if err != nil {
		return nil, err
	}
	limit, enough := context.WithTimeout(context.Background(), scenario.Limit)
	defer enough()
	member := &member{count: count, enough: enough}
	err = errors.Join(joined.Consume(limit, []string{topic}, member), joined.Close())
	if len(member.found) < count {
		err = errors.Join(err, fmt.Errorf("%d of %d records", len(member.found), count))
	}
	return member.found, err
}

// member takes records of all its partitions until it has enough, and marks them.
type member struct {
	count  int
	enough func()
	mutex  sync.Mutex
	found  []scenario.Place
}

func (m *member) Setup(sarama.ConsumerGroupSession) error { return nil }

func (m *member) Cleanup(session sarama.ConsumerGroupSession) error {
	session.Commit()
	return nil
}

func (m *member) ConsumeClaim(session sarama.ConsumerGroupSession, claim sarama.ConsumerGroupClaim) error {
	for {
		select {
		case each, isOpen := <-claim.Messages():
			if !isOpen || m.takeUp(session, each) {
				return nil
			}
		case <-session.Context().Done():
			return nil
		}
	}
}

func (m *member) takeUp(session sarama.ConsumerGroupSession, each *sarama.ConsumerMessage) (isEnough bool) {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	if len(m.found) < m.count {
		m.found = append(m.found, scenario.Place{int64(each.Partition), each.Offset})
		session.MarkMessage(each, "")
	}
	if len(m.found) < m.count {
		return false
	}
	m.enough()
	return true
}

func (p *player) OffsetAt(topic string, timeMs int64) (int64, error) {
	return p.client.GetOffset(topic, 0, timeMs)
}

func (p *player) Ends(topic string) (int64, int64, error) { return p.ends(topic, 0) }

func (p *player) ends(topic string, partition int32) (int64, int64, error) {
	low, err := p.client.GetOffset(topic, partition, sarama.OffsetOldest)
	if err != nil {
		return 0, 0, err
	}
	high, err := p.client.GetOffset(topic, partition, sarama.OffsetNewest)
	return low, high, err
}

func (p *player) DeleteRecords(topic string, before int64) error {
	return p.admin.DeleteRecords(topic, map[int32]int64{0: before})
}

func (p *player) AddPartitions(topic string, total int) error {
	return p.admin.CreatePartitions(topic, int32(total), nil, false)
}

func (p *player) SetConfig(topic, name, value string) error {
	entry := sarama.IncrementalAlterConfigsEntry{Operation: sarama.IncrementalAlterConfigsOperationSet, Value: &value}
	changes := map[string]sarama.IncrementalAlterConfigsEntry{name: entry}
	return p.admin.IncrementalAlterConfig(sarama.TopicResource, topic, changes, false)
}

func (p *player) Delete(topic string) error { return p.admin.DeleteTopic(topic) }

var names = map[sarama.KError]string{
	sarama.ErrMessageSizeTooLarge:     "ErrMessageSizeTooLarge",
	sarama.ErrUnknownTopicOrPartition: "ErrUnknownTopicOrPartition",
}

func refused(err error) error {
	var failed sarama.ProducerErrors
	if errors.As(err, &failed) {
		err = failed[0].Err
	}
	var known sarama.KError
	if errors.As(err, &known) && names[known] != "" {
		return scenario.Refused{Name: names[known]}
	}
	return err
}
