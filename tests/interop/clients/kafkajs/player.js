// KafkaJS plays the scenario of ../README.md.
"use strict";

const readline = require("node:readline");
const { Kafka, CompressionTypes, CompressionCodecs, ConfigResourceTypes, logLevel } = require("kafkajs");
// KafkaJS consumes in groups only. To read a partition, its consumer's own parts are used: what asks and what decodes.
const Cluster = require("kafkajs/src/cluster");
const Batch = require("kafkajs/src/consumer/batch");
const socketFactory = require("kafkajs/src/network/socketFactory");
const { createLogger } = require("kafkajs/src/loggers");
const LoggerConsole = require("kafkajs/src/loggers/console");
const lz4 = require("lz4-napi");
const snappy = require("kafkajs-snappy");
const zstd = require("@bokuweb/zstd-wasm");

const FIRST_MS = 1_700_000_000_000;
const SEARCHED_MS = 1_700_000_023_500;
const PAST_END_MS = 1_800_000_000_000;
const BATCH = 10;
const LIMIT_MS = 60_000;
const CONFIGS = { "max.message.bytes": "20000", "retention.ms": "-1" };
const CODECS = {
  none: CompressionTypes.None,
  gzip: CompressionTypes.GZIP,
  snappy: CompressionTypes.Snappy,
  lz4: CompressionTypes.LZ4,
  zstd: CompressionTypes.ZSTD,
};

// It has gzip built in, and takes the others as plugins.
CompressionCodecs[CompressionTypes.Snappy] = snappy;
CompressionCodecs[CompressionTypes.LZ4] = () => ({
  compress: (encoder) => lz4.compressFrame(encoder.buffer),
  decompress: (buffer) => lz4.decompressFrame(buffer),
});
CompressionCodecs[CompressionTypes.ZSTD] = () => ({
  compress: async (encoder) => Buffer.from(zstd.compress(encoder.buffer)),
  decompress: async (buffer) => Buffer.from(zstd.decompress(buffer)),
});

class Player {
  constructor(bootstrap) {
    this.brokers = [bootstrap];
    this.kafka = this.client({});
    this.admin = this.kafka.admin();
  }

  client(settings) {
    return new Kafka({ brokers: this.brokers, logLevel: logLevel.NOTHING, connectionTimeout: LIMIT_MS, ...settings });
  }

  // --- the steps

  async play(topic, codecs) {
    const changed = `${topic}-changed`;
    const configEntries = Object.entries(CONFIGS).map(([name, value]) => ({ name, value }));
    const topics = [topic, changed].map((name) => ({ topic: name, numPartitions: 3, configEntries }));
    await this.admin.createTopics({ topics });
    tell("created");
    const configs = {};
    for (const name of Object.keys(CONFIGS)) configs[name] = await this.config(topic, name);
    tell("described", { partitions: await this.partitions(topic), configs });
    await this.produce(topic, codecs);
    await this.consume(topic);
    await this.change(changed);
    await this.fail(topic);
    await this.admin.deleteTopics({ topics: [changed] });
    const left = (await this.admin.listTopics()).filter((name) => name === topic || name === changed);
    tell("deleted", { topics: left.sort() });
  }

  async produce(topic, codecs) {
    for (const [at, codec] of codecs.entries()) {
      const how = { acks: -1, compression: CODECS[codec] };
      const offsets = await this.send(topic, 0, records(at, codec), how, { idempotent: true, maxInFlightRequests: 1 });
      tell("produced", { codec, offsets });
    }
    for (const acks of [1, 0]) await this.send(topic, 1, [one(`acks-${acks}`)], { acks });
    tell("acks", { values: (await this.read(topic, 1, 0, 2)).map((record) => record[3]) });
    tell("defaults", { offset: (await this.send(topic, 2, [one("default")]))[0] });
  }

  async consume(topic) {
    tell("consumed", { records: await this.read(topic, 0) });
    const later = await this.read(topic, 0, 15);
    tell("from_offset", { first: later[0][0], count: later.length });
    const found = await this.offsetAt(topic, SEARCHED_MS);
    tell("by_time", { found, past_end: await this.offsetAt(topic, PAST_END_MS) });
    const { low, high } = await this.ends(topic, 0);
    tell("offsets", { earliest: low, latest: high });
  }

  async change(topic) {
    await this.send(topic, 0, records(0, "none"));
    await this.ends(topic, 0); // it deletes records only where it knows the leader already
    await this.admin.deleteTopicRecords({ topic, partitions: [{ partition: 0, offset: "7" }] });
    const { low } = await this.ends(topic, 0);
    tell("records_deleted", { low, first: (await this.read(topic, 0))[0][0] });
    await this.admin.createPartitions({ topicPartitions: [{ topic, count: 5 }] });
    tell("partitions_added", { partitions: await this.partitions(topic) });
    const configEntries = [{ name: "max.message.bytes", value: "30000" }];
    const resource = { type: ConfigResourceTypes.TOPIC, name: topic, configEntries };
    await this.admin.alterConfigs({ resources: [resource] });
    tell("altered", { value: await this.config(topic, "max.message.bytes") });
  }

  async fail(topic) {
    const tooLarge = () => this.send(topic, 0, [one("x".repeat(25_000))]);
    tell("too_large", { error: await refusal(tooLarge) });
    const impatient = this.client({ retry: { retries: 0 } }).admin();
    await impatient.connect();
    const unknown = () => impatient.fetchTopicMetadata({ topics: [`${topic}-unknown`] });
    tell("unknown_topic", { error: await refusal(unknown) });
    await impatient.disconnect();
  }

  // --- what the client does

  async partitions(topic) {
    const { topics } = await this.admin.fetchTopicMetadata({ topics: [topic] });
    return topics[0].partitions.length;
  }

  async config(topic, name) {
    const resource = { type: ConfigResourceTypes.TOPIC, name: topic, configNames: [name] };
    const { resources } = await this.admin.describeConfigs({ resources: [resource], includeSynonyms: false });
    return resources[0].configEntries[0].configValue;
  }

  async send(topic, partition, messages, how = {}, settings = {}) {
    const producer = this.kafka.producer(settings);
    await producer.connect();
    try {
      const sent = await producer.send({ topic, ...how, messages: messages.map((each) => ({ ...each, partition })) });
      return messages.map((_, n) => Number(sent[0]?.baseOffset) + n);
    } finally {
      await producer.disconnect();
    }
  }

  /** From an offset or the beginning; `count` records, or all that are there. */
  async read(topic, partition, start, count) {
    const { low, high } = await this.ends(topic, partition);
    let next = start ?? low;
    const end = count === undefined ? high : next + count;
    const cluster = this.cluster();
    await cluster.connect();
    await cluster.addTargetTopic(topic);
    const { leader } = cluster.findTopicPartitionMetadata(topic).find((each) => each.partitionId === partition);
    const broker = await cluster.findBroker({ nodeId: String(leader) });
    const found = [];
    while (next < end) {
      const partitions = [{ partition, fetchOffset: String(next), maxBytes: 1 << 20 }];
      const { responses } = await broker.fetch({ isolationLevel: 0, topics: [{ topic, partitions }] });
      const batch = new Batch(topic, String(next), responses[0].partitions[0]);
      found.push(...batch.messages.map(asPrinted));
      next = Number(batch.lastOffset()) + 1;
    }
    await cluster.disconnect();
    return found;
  }

  async follow(topic) {
    // By default it gives up after some seconds.
    const patient = this.client({ retry: { retries: 1000, maxRetryTime: 300 } });
    const producer = patient.producer({ idempotent: true, maxInFlightRequests: 1 });
    await producer.connect();
    let next = 0;
    for await (const value of readline.createInterface({ input: process.stdin })) {
      await producer.send({ topic, acks: -1, messages: [{ partition: 0, value }] });
      const [read] = await this.read(topic, 0, next, 1);
      print({ offset: read[0], value: read[3] });
      next = read[0] + 1;
    }
    await producer.disconnect();
  }

  async join(topic, groupId, count) {
    const consumer = this.kafka.consumer({ groupId });
    await consumer.connect();
    await consumer.subscribe({ topics: [topic], fromBeginning: true });
    const found = [];
    await new Promise((resolve, reject) => {
      consumer.on(consumer.events.CRASH, ({ payload }) => reject(payload.error));
      const eachMessage = async ({ partition, message }) => {
        if (found.length < count) found.push([partition, Number(message.offset)]);
        if (found.length === count) resolve();
      };
      consumer.run({ autoCommit: false, eachMessage }).catch(reject);
    });
    const last = Object.entries(Object.fromEntries(found));
    await consumer.commitOffsets(
      last.map(([partition, offset]) => ({ topic, partition: Number(partition), offset: String(offset + 1) })),
    );
    await consumer.disconnect();
    print({ records: found });
  }

  cluster() {
    return new Cluster({
      logger: createLogger({ level: logLevel.NOTHING, logCreator: LoggerConsole }),
      socketFactory: socketFactory(),
      brokers: this.brokers,
      connectionTimeout: LIMIT_MS,
      offsets: new Map(),
    });
  }

  async offsetAt(topic, timeMs) {
    const found = Number((await this.admin.fetchTopicOffsetsByTimestamp(topic, timeMs))[0].offset);
    const { high } = await this.ends(topic, 0);
    return found === high ? null : found; // it gives the end where no record is late enough
  }

  async ends(topic, partition) {
    const offsets = await this.admin.fetchTopicOffsets(topic);
    const { low, high } = offsets.find((each) => each.partition === partition);
    return { low: Number(low), high: Number(high) };
  }
}

// --- what is sent, and how it is printed

function records(at, codec) {
  return Array.from({ length: BATCH }, (_, n) => ({
    timestamp: String(FIRST_MS + 1000 * (at * BATCH + n)),
    key: n % 2 ? null : `key-${n}`,
    value: n === 8 ? null : `${codec} ${n} ü€`,
    headers: { codec, n: String(n), empty: "" },
  }));
}

const one = (value) => ({ timestamp: String(FIRST_MS), key: null, value });

const text = (data) => (data === null ? null : data.toString("utf8"));

function asPrinted(message) {
  const headers = Object.entries(message.headers).map(([name, data]) => [name, text(data)]);
  return [Number(message.offset), Number(message.timestamp), text(message.key), text(message.value), headers];
}

async function refusal(call) {
  try {
    await call();
  } catch (error) {
    if (error.type) return error.type;
    throw error;
  }
  return null;
}

const print = (line) => process.stdout.write(`${JSON.stringify(line)}\n`);
const tell = (step, fields = {}) => print({ step, ...fields });

async function main(mode, bootstrap, ...rest) {
  await zstd.init();
  const player = new Player(bootstrap);
  await player.admin.connect();
  if (mode === "play") {
    await player.play(rest[0], rest[1].split(","));
  } else if (mode === "join") {
    await player.join(rest[0], rest[1], Number(rest[3]));
  } else if (mode === "follow") {
    await player.follow(rest[0]);
  } else {
    for (const topic of rest) print({ topic, records: await player.read(topic, 0) });
  }
  await player.admin.disconnect();
}

main(...process.argv.slice(2)).catch((error) => {
  process.stderr.write(`${error.stack}\n`);
  process.exit(1); // connections may be open
});
