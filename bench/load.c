/* The load of the benchmarks against a broker: one thread, raw sockets, and little else between them and the clock.
 *
 *   load pipe ADDRESS CONNECTIONS IN_FLIGHT COUNT SECONDS < requests
 *       Frames of requests, dealt out to the connections and sent in turn, with IN_FLIGHT of them under way on each,
 *       until each has sent COUNT or SECONDS are over. Answers to Produce 9 to 12 must have no error, and offsets
 *       that grow.
 *   load fetch ADDRESS TOPIC TIMES ISOLATION END...
 *       All partitions of a topic from 0 to END, TIMES times, as a consumer with default settings asks for them.
 *   load pace ADDRESS TOPIC RECORDS COUNT INTERVAL_US OFFSET < request
 *       A produce request with RECORDS records each INTERVAL_US, and a consumer of its partition, which is at OFFSET.
 *
 * An answer that is not as it should be ends it with status 1 and a line on standard error; else it prints JSON. It is
 * built and run by load.py. Linux only.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <endian.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

enum { HEAD = 12, FETCH = 1, FETCH_VERSION = 12, CONNECTIONS_MAX = 256, PARTITIONS_MAX = 1000 };
enum { BATCH_HEAD = 61, ROOM = 1 << 16, ANSWER_MAX = 64 << 20, LIMIT_S = 300 };

#define FAIL(...) (fprintf(stderr, "load: " __VA_ARGS__), fputc('\n', stderr), exit(1))

/* --- clocks and figures */

static uint64_t clock_ns(clockid_t clock) {
    struct timespec time;
    clock_gettime(clock, &time);
    return time.tv_sec * 1000000000ull + time.tv_nsec;
}

static uint64_t now(void) { return clock_ns(CLOCK_MONOTONIC); }

static uint64_t began, cpu_began, ended, cpu_ended;

static void begin(void) { began = now(), cpu_began = clock_ns(CLOCK_PROCESS_CPUTIME_ID); }

static void end(void) { ended = now(), cpu_ended = clock_ns(CLOCK_PROCESS_CPUTIME_ID); }

static int by_size(const void *one, const void *other) {
    uint32_t a = *(const uint32_t *)one, b = *(const uint32_t *)other;
    return (a > b) - (a < b);
}

/* `times` are in nanoseconds; they are sorted. */
static void report(long requests, long bytes, uint32_t *times, long count) {
    double seconds = (ended - began) / 1e9;
    qsort(times, count, sizeof *times, by_size);
    printf("{\"seconds\": %.9f, \"own_cpu\": %.4f, \"requests\": %ld, \"bytes\": %ld", seconds,
           (cpu_ended - cpu_began) / 1e9 / seconds, requests, bytes);
    if (count)
        printf(", \"p50_us\": %.3f, \"p99_us\": %.3f", times[count / 2] / 1e3, times[count * 99 / 100] / 1e3);
    puts("}");
}

static void *room_for(size_t count, size_t size) {
    void *room = calloc(count ? count : 1, size);
    if (!room) FAIL("no memory");
    return room;
}

/* --- answers */

struct reader {
    const uint8_t *at, *end;
};

static const uint8_t *take(struct reader *reader, size_t size) {
    if ((size_t)(reader->end - reader->at) < size) FAIL("an answer is too short");
    reader->at += size;
    return reader->at - size;
}

static int16_t take_int16(struct reader *reader) {
    uint16_t value;
    memcpy(&value, take(reader, sizeof value), sizeof value);
    return be16toh(value);
}

static int32_t take_int32(struct reader *reader) {
    uint32_t value;
    memcpy(&value, take(reader, sizeof value), sizeof value);
    return be32toh(value);
}

static int64_t take_int64(struct reader *reader) {
    uint64_t value;
    memcpy(&value, take(reader, sizeof value), sizeof value);
    return be64toh(value);
}

static uint32_t take_varint(struct reader *reader) {
    uint32_t value = 0;
    for (int shift = 0; shift < 35; shift += 7) {
        uint8_t byte = *take(reader, 1);
        value |= (uint32_t)(byte & 0x7f) << shift;
        if (!(byte & 0x80)) return value;
    }
    FAIL("a number in an answer does not end");
}

/* Of compact strings, bytes and arrays; null is as empty. */
static uint32_t take_length(struct reader *reader) {
    uint32_t length = take_varint(reader);
    return length ? length - 1 : 0;
}

static void skip_tags(struct reader *reader) {
    for (uint32_t left = take_varint(reader); left; left--) {
        take_varint(reader);
        take(reader, take_varint(reader));
    }
}

static void check_one(struct reader *reader, const char *what) {
    uint32_t length = take_length(reader);
    if (length != 1) FAIL("an answer has %u %s", length, what);
}

/* The base offset. */
static int64_t read_produced(struct reader *reader) {
    skip_tags(reader);
    check_one(reader, "topics");
    take(reader, take_length(reader));
    check_one(reader, "partitions");
    int32_t partition = take_int32(reader);
    int16_t error = take_int16(reader);
    if (error) FAIL("produce to partition %d: error %d", partition, error);
    return take_int64(reader);
}

/* Moves `offset` behind the whole batches in `records`, and returns their bytes. */
static long walk(struct reader records, int64_t *offset) {
    long bytes = 0;
    while (records.end - records.at >= BATCH_HEAD) {
        struct reader batch = records;
        int64_t base = take_int64(&batch);
        size_t size = HEAD + (size_t)take_int32(&batch);
        if (size > (size_t)(records.end - records.at)) break;
        if (base != *offset) FAIL("offset %ld came where %ld was next", (long)base, (long)*offset);
        take(&batch, 4);
        if (*take(&batch, 1) != 2) FAIL("a batch at %ld is not of magic 2", (long)base);
        take(&batch, 6);
        *offset = base + take_int32(&batch) + 1;
        take(&records, size);
        bytes += size;
    }
    return bytes;
}

/* Moves `offsets` of partitions, and returns the bytes of the batches. */
static long read_fetched(struct reader *reader, int64_t *offsets, int partitions) {
    long bytes = 0;
    skip_tags(reader);
    take_int32(reader); /* throttle time */
    int16_t error = take_int16(reader);
    if (error) FAIL("fetch: error %d", error);
    take_int32(reader); /* session */
    check_one(reader, "topics");
    take(reader, take_length(reader));
    for (uint32_t left = take_length(reader); left; left--) {
        int32_t partition = take_int32(reader);
        error = take_int16(reader);
        if (error || partition < 0 || partition >= partitions)
            FAIL("fetch of partition %d: error %d", partition, error);
        take(reader, 24); /* high watermark, last stable offset, log start */
        for (uint32_t aborted = take_length(reader); aborted; aborted--) take(reader, 16), skip_tags(reader);
        take_int32(reader); /* preferred replica */
        uint32_t size = take_length(reader);
        const uint8_t *records = take(reader, size);
        skip_tags(reader);
        bytes += walk((struct reader){records, records + size}, &offsets[partition]);
    }
    return bytes;
}

/* --- requests */

struct writer {
    uint8_t *at;
};

static void put(struct writer *writer, const void *data, size_t size) {
    memcpy(writer->at, data, size);
    writer->at += size;
}

static void put_int8(struct writer *writer, int value) { *writer->at++ = value; }

static void put_int16(struct writer *writer, int16_t value) {
    uint16_t bytes = htobe16(value);
    put(writer, &bytes, sizeof bytes);
}

static void put_int32(struct writer *writer, int32_t value) {
    uint32_t bytes = htobe32(value);
    put(writer, &bytes, sizeof bytes);
}

static void put_int64(struct writer *writer, int64_t value) {
    uint64_t bytes = htobe64(value);
    put(writer, &bytes, sizeof bytes);
}

static void put_length(struct writer *writer, uint32_t length) {
    for (length++; length >= 0x80; length >>= 7) put_int8(writer, length | 0x80);
    put_int8(writer, length);
}

/* Of the partitions whose offset is below their end. `room` is large enough for all of them. */
static size_t write_fetch(uint8_t *room, const char *topic, int isolation, const int64_t *offsets, const int64_t *ends,
                          int partitions) {
    struct writer writer = {room + 4};
    int wanted = 0;
    for (int n = 0; n < partitions; n++) wanted += offsets[n] < ends[n];
    put_int16(&writer, FETCH), put_int16(&writer, FETCH_VERSION), put_int32(&writer, 0);
    put_int16(&writer, 5), put(&writer, "bench", 5), put_int8(&writer, 0);
    put_int32(&writer, -1), put_int32(&writer, 500), put_int32(&writer, 1), put_int32(&writer, 50 << 20);
    put_int8(&writer, isolation), put_int32(&writer, 0), put_int32(&writer, -1); /* no session */
    put_length(&writer, 1), put_length(&writer, strlen(topic)), put(&writer, topic, strlen(topic));
    put_length(&writer, wanted);
    for (int n = 0; n < partitions; n++) {
        if (offsets[n] >= ends[n]) continue;
        put_int32(&writer, n), put_int32(&writer, -1), put_int64(&writer, offsets[n]), put_int32(&writer, -1);
        put_int64(&writer, -1), put_int32(&writer, 1 << 20), put_int8(&writer, 0);
    }
    put_int8(&writer, 0), put_length(&writer, 0), put_length(&writer, 0), put_int8(&writer, 0);
    size_t size = writer.at - room;
    put_int32(&(struct writer){room}, size - 4);
    return size;
}

/* All frames on standard input; returns how many. */
static int read_frames(struct iovec **frames) {
    size_t size = 0, room = ROOM, count = 0;
    uint8_t *data = room_for(room, 1);
    for (ssize_t got; (got = read(STDIN_FILENO, data + size, room - size)) > 0;) {
        size += got;
        if (size == room && !(data = realloc(data, room *= 2))) FAIL("no memory");
    }
    struct reader reader = {data, data + size};
    *frames = room_for(size / HEAD, sizeof **frames);
    while (reader.at < reader.end) {
        uint8_t *frame = (uint8_t *)reader.at;
        size_t length = 4 + (size_t)take_int32(&reader);
        if (length < HEAD) FAIL("a request is too short");
        take(&reader, length - 4);
        (*frames)[count++] = (struct iovec){frame, length};
    }
    return count;
}

/* --- connections */

struct connection {
    int fd;
    long sent, answered;
    size_t at; /* of the request that is being written, 0 if there is none */
    uint8_t head[HEAD];
    uint64_t *sent_at;
    uint8_t *in;
    size_t have, room;
};

static void open_connection(struct connection *connection, const char *address, int in_flight) {
    struct sockaddr_in to = {.sin_family = AF_INET};
    const char *colon = strrchr(address, ':');
    char host[INET_ADDRSTRLEN] = "";
    if (colon && (size_t)(colon - address) < sizeof host) memcpy(host, address, colon - address);
    if (!colon || inet_pton(AF_INET, host, &to.sin_addr) != 1) FAIL("%s is no IPv4 address with a port", address);
    to.sin_port = htons(atoi(colon + 1));
    *connection = (struct connection){.fd = socket(AF_INET, SOCK_STREAM, 0), .room = ROOM};
    if (connect(connection->fd, (struct sockaddr *)&to, sizeof to)) FAIL("%s: %s", address, strerror(errno));
    setsockopt(connection->fd, IPPROTO_TCP, TCP_NODELAY, &(int){1}, sizeof(int));
    connection->in = room_for(connection->room, 1);
    connection->sent_at = room_for(in_flight, sizeof *connection->sent_at);
}

/* What the socket takes of a request. Its correlation id is the number of requests before it; true at its end. */
static bool write_some(struct connection *connection, const struct iovec *frame, int flags) {
    if (!connection->at) {
        memcpy(connection->head, frame->iov_base, HEAD);
        put_int32(&(struct writer){connection->head + 8}, connection->sent);
    }
    size_t in_head = connection->at < HEAD ? HEAD - connection->at : 0, behind = connection->at + in_head;
    struct iovec left[] = {{connection->head + HEAD - in_head, in_head},
                           {(uint8_t *)frame->iov_base + behind, frame->iov_len - behind}};
    struct msghdr message = {.msg_iov = left + !in_head, .msg_iovlen = 2 - !in_head};
    ssize_t sent = sendmsg(connection->fd, &message, flags | MSG_NOSIGNAL);
    if (sent < 0 && errno != EAGAIN) FAIL("send: %s", strerror(errno));
    connection->at += sent > 0 ? sent : 0;
    if (connection->at < frame->iov_len) return false;
    connection->at = 0;
    connection->sent++;
    return true;
}

static void write_all(struct connection *connection, const struct iovec *frame) {
    while (!write_some(connection, frame, 0)) {}
}

static void receive(struct connection *connection) {
    ssize_t got = recv(connection->fd, connection->in + connection->have, connection->room - connection->have, 0);
    if (got <= 0) FAIL("receive: %s", got ? strerror(errno) : "the broker closed the connection");
    connection->have += got;
}

/* The next answer if all of it has come, behind its correlation id; good until the next call for the connection. */
static bool next_answer(struct connection *connection, size_t *at, struct reader *answer) {
    size_t left = connection->have - *at;
    if (left >= 4) {
        struct reader reader = {connection->in + *at, connection->in + connection->have};
        size_t size = 4 + (size_t)take_int32(&reader);
        if (size > ANSWER_MAX) FAIL("an answer of %zu bytes", size);
        if (left >= size) {
            *answer = (struct reader){reader.at, reader.at + size - 4};
            int32_t id = take_int32(answer);
            if (id != (int32_t)connection->answered) FAIL("answer %d came for %ld", id, connection->answered);
            connection->answered++;
            *at += size;
            return true;
        }
        if (size > connection->room && !(connection->in = realloc(connection->in, connection->room = size)))
            FAIL("no memory");
    }
    memmove(connection->in, connection->in + *at, left);
    connection->have = left;
    *at = 0;
    return false;
}

/* --- pipe */

struct pipes {
    struct iovec *frames;
    int64_t *offsets; /* of the last answer to each frame */
    int frame_count, connection_count, in_flight;
    long started, answered, count;
    uint64_t deadline;
    uint32_t *times;
};

/* The frames are dealt out: a connection's frames are as far apart as there are connections. */
static int frame_number(const struct pipes *pipes, int connection, long request) {
    return connection + request % (pipes->frame_count / pipes->connection_count) * pipes->connection_count;
}

/* False if the socket takes no more. */
static bool send_some(struct pipes *pipes, struct connection *connection, int number) {
    for (;;) {
        if (!connection->at) {
            uint64_t time = now();
            if (connection->sent - connection->answered == pipes->in_flight) return true;
            if (connection->sent == pipes->count || time >= pipes->deadline) return true;
            connection->sent_at[connection->sent % pipes->in_flight] = time;
            pipes->started++;
        }
        if (!write_some(connection, &pipes->frames[frame_number(pipes, number, connection->sent)], MSG_DONTWAIT))
            return false;
    }
}

static void receive_some(struct pipes *pipes, struct connection *connection, int number) {
    struct reader answer;
    size_t at = 0;
    receive(connection);
    while (next_answer(connection, &at, &answer)) {
        long request = connection->answered - 1;
        int frame = frame_number(pipes, number, request);
        pipes->times[pipes->answered++] = now() - connection->sent_at[request % pipes->in_flight];
        if (memcmp((uint8_t *)pipes->frames[frame].iov_base + 4, "\0\0", 2)) continue; /* not Produce */
        long before = pipes->offsets[frame], offset = read_produced(&answer);
        if (offset <= before) FAIL("offset %ld came after %ld", offset, before);
        pipes->offsets[frame] = offset;
    }
}

static void pipe_requests(char **arguments) {
    struct connection connections[CONNECTIONS_MAX];
    struct pollfd polled[CONNECTIONS_MAX];
    struct pipes pipes = {.connection_count = atoi(arguments[1]), .in_flight = atoi(arguments[2])};
    pipes.count = atol(arguments[3]);
    pipes.frame_count = read_frames(&pipes.frames);
    pipes.times = malloc(pipes.count * pipes.connection_count * sizeof *pipes.times); /* only what is used is there */
    pipes.offsets = room_for(pipes.frame_count, sizeof *pipes.offsets);
    for (int n = 0; n < pipes.frame_count; n++) pipes.offsets[n] = -1;
    if (!pipes.times || pipes.connection_count < 1 || pipes.connection_count > CONNECTIONS_MAX || pipes.in_flight < 1 ||
        !pipes.frame_count || pipes.frame_count % pipes.connection_count)
        FAIL("%d requests on %d connections", pipes.frame_count, pipes.connection_count);
    for (int n = 0; n < pipes.connection_count; n++) {
        open_connection(&connections[n], arguments[0], pipes.in_flight);
        polled[n] = (struct pollfd){connections[n].fd, POLLIN, 0};
    }
    begin();
    pipes.deadline = began + (uint64_t)(atof(arguments[4]) * 1e9);
    for (int n = 0; n < pipes.connection_count; n++)
        if (!send_some(&pipes, &connections[n], n)) polled[n].events |= POLLOUT;
    while (pipes.answered < pipes.started) {
        poll(polled, pipes.connection_count, -1);
        for (int n = 0; n < pipes.connection_count; n++) {
            if (!polled[n].revents) continue;
            if (polled[n].revents & ~POLLOUT) receive_some(&pipes, &connections[n], n);
            polled[n].events = send_some(&pipes, &connections[n], n) ? POLLIN : POLLIN | POLLOUT;
        }
    }
    end();
    report(pipes.answered, 0, pipes.times, pipes.answered);
}

/* --- fetch */

static void fetch_topic(int count, char **arguments) {
    struct connection connection;
    int partitions = count - 4;
    int64_t offsets[PARTITIONS_MAX], ends[PARTITIONS_MAX];
    if (partitions > PARTITIONS_MAX) FAIL("%d partitions", partitions);
    for (int n = 0; n < partitions; n++) ends[n] = atoll(arguments[4 + n]);
    uint8_t *room = room_for(1024 + partitions * 64, 1);
    long bytes = 0;
    size_t at = 0;
    open_connection(&connection, arguments[0], 1);
    begin();
    for (int left = atoi(arguments[2]); left; left--) {
        memset(offsets, 0, sizeof offsets);
        while (memcmp(offsets, ends, partitions * sizeof *ends)) {
            size_t size = write_fetch(room, arguments[1], atoi(arguments[3]), offsets, ends, partitions);
            write_all(&connection, &(struct iovec){room, size});
            struct reader answer;
            while (!next_answer(&connection, &at, &answer)) receive(&connection);
            bytes += read_fetched(&answer, offsets, partitions);
        }
    }
    end();
    report(connection.answered, bytes, NULL, 0);
}

/* --- pace */

static void pace(char **arguments) {
    struct connection producer, consumer;
    struct iovec *frames;
    long records = atol(arguments[2]), count = atol(arguments[3]), arrived = 0;
    uint64_t interval = atoll(arguments[4]) * 1000, *sent_at = room_for(count, sizeof *sent_at);
    uint32_t *times = room_for(count, sizeof *times);
    int64_t first = atoll(arguments[5]), offset = first, no_end = INT64_MAX;
    uint8_t room[1024];
    if (read_frames(&frames) != 1 || strlen(arguments[1]) > 249) FAIL("one request to one topic is wanted");
    open_connection(&producer, arguments[0], 1);
    open_connection(&consumer, arguments[0], 1);
    struct pollfd polled[] = {{producer.fd, POLLIN, 0}, {consumer.fd, POLLIN, 0}};
    write_all(&consumer, &(struct iovec){room, write_fetch(room, arguments[1], 0, &offset, &no_end, 1)});
    begin();
    while (arrived < count || producer.answered < count) {
        uint64_t due = began + producer.sent * interval, time = now();
        if (producer.sent < count && time >= due) {
            sent_at[producer.sent] = time;
            write_all(&producer, frames);
            continue;
        }
        struct timespec wait = {(due - time) / 1000000000, (due - time) % 1000000000};
        ppoll(polled, 2, producer.sent < count ? &wait : NULL, NULL);
        struct reader answer;
        if (polled[0].revents) {
            receive(&producer);
            for (size_t at = 0; next_answer(&producer, &at, &answer);) read_produced(&answer);
        }
        if (!polled[1].revents) continue;
        receive(&consumer);
        for (size_t at = 0; next_answer(&consumer, &at, &answer);) {
            time = now();
            read_fetched(&answer, &offset, 1);
            for (; arrived < (offset - first) / records; arrived++) times[arrived] = time - sent_at[arrived];
            write_all(&consumer, &(struct iovec){room, write_fetch(room, arguments[1], 0, &offset, &no_end, 1)});
        }
    }
    end();
    report(producer.answered + consumer.answered, 0, times, arrived);
}

int main(int count, char **arguments) {
    alarm(LIMIT_S);
    if (count == 7 && !strcmp(arguments[1], "pipe"))
        pipe_requests(arguments + 2);
    else if (count > 6 && !strcmp(arguments[1], "fetch"))
        fetch_topic(count - 2, arguments + 2);
    else if (count == 8 && !strcmp(arguments[1], "pace"))
        pace(arguments + 2);
    else
        FAIL("usage: see load.c");
}
