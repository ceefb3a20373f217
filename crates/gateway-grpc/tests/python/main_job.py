"""The main job by an unmodified grpcio client, generated from proto/punctual/v1.

Publishes with a delay, subscribes with credit, receives nothing early, acks, cancels, lists, looks
and reads the details of an error. The clock of the broker is manual. Usage: main_job.py ADDRESS
"""

import queue
import sys

import grpc
from punctual.v1 import (
    admin_pb2,
    admin_pb2_grpc,
    broker_pb2,
    broker_pb2_grpc,
    message_pb2,
    messages_pb2,
    messages_pb2_grpc,
)

TOPIC, SUBSCRIPTION = "orders", "closing"
MINUTE_MS = 60_000
WAIT_S = 10


class Stream:
    """A Subscribe stream: requests by a queue, replies by iteration in order."""

    def __init__(self, broker):
        self.requests = queue.Queue()
        self.call = broker.Subscribe(iter(self.requests.get, None), timeout=WAIT_S)
        self.send(open=broker_pb2.Open(topic=TOPIC, subscription=SUBSCRIPTION))

    def send(self, **request):
        self.requests.put(broker_pb2.SubscribeRequest(**request))

    def deliveries(self):
        reply = next(self.call)
        assert reply.WhichOneof("reply") == "deliveries", reply
        return list(reply.deliveries.messages)

    def results(self, request_id):
        reply = next(self.call)
        assert reply.WhichOneof("reply") == "results", reply
        assert reply.results.request_id == request_id, reply
        return list(reply.results.results)

    def half_close(self):
        self.requests.put(None)
        rest = list(self.call)
        assert self.call.code() == grpc.StatusCode.OK, self.call.code()
        return rest


def read_varint(data, at):
    value, shift = 0, 0
    while True:
        byte = data[at]
        value |= (byte & 0x7F) << shift
        at, shift = at + 1, shift + 7
        if byte < 0x80:
            return value, at


def fields(data):
    """The length-delimited fields of a message: number, bytes."""
    at = 0
    while at < len(data):
        tag, at = read_varint(data, at)
        length, end = read_varint(data, at)
        if tag & 7 == 2:
            yield tag >> 3, data[end : end + length]
            at = end + length
        else:
            at = end


def error_info(error):
    """google.rpc.ErrorInfo out of the status details: reason, domain, metadata."""
    details = dict(error.trailing_metadata())["grpc-status-details-bin"]
    for number, any_ in fields(details):
        parts = dict(fields(any_)) if number == 3 else {}
        if parts.get(1) == b"type.googleapis.com/google.rpc.ErrorInfo":
            info = list(fields(parts[2]))
            entries = [dict(fields(value)) for number, value in info if number == 3]
            metadata = {entry[1].decode(): entry[2].decode() for entry in entries}
            named = dict(info)
            return named[1].decode(), named[2].decode(), metadata
    raise AssertionError(f"no ErrorInfo in {details!r}")


def publish_delayed(broker):
    message = message_pb2.NewMessage(
        body=b"\x00order 42\xff",
        delay_ms=15 * MINUTE_MS,
        key="42",
        headers={"kind": "timeout", "amount": "12,50 \u20ac"},
    )
    other = message_pb2.NewMessage(body=b"order 43", delay_ms=15 * MINUTE_MS, key="43")
    reply = broker.Publish(broker_pb2.PublishRequest(topic=TOPIC, messages=[message, other]))
    assert [result.status for result in reply.results] == [broker_pb2.PUBLISH_STATUS_ACCEPTED] * 2, reply
    return [result.id for result in reply.results]


def pipeline(broker):
    """Replies of a PublishStream come in order."""
    message = message_pb2.NewMessage(body=b"far", delay_ms=1000 * MINUTE_MS)
    requests = (broker_pb2.PublishRequest(request_id=n, topic="far", messages=[message]) for n in range(100))
    replies = list(broker.PublishStream(requests, timeout=WAIT_S))
    assert [reply.request_id for reply in replies] == list(range(100))
    assert all(reply.results[0].status == broker_pb2.PUBLISH_STATUS_ACCEPTED for reply in replies)


def look_and_cancel(messages, ids):
    listed = messages.List(messages_pb2.ListRequest(topic=TOPIC))
    assert [view.id for view in listed.messages] == ids, listed
    view = messages.Get(messages_pb2.GetRequest(topic=TOPIC, key="42"))
    assert view.id == ids[0] and view.state == message_pb2.MESSAGE_STATE_SCHEDULED
    assert view.headers["amount"] == "12,50 \u20ac"
    cancel = messages_pb2.CancelRequest(topic=TOPIC, key="43")
    for _ in range(2):
        assert messages.Cancel(cancel).outcome == messages_pb2.CANCEL_OUTCOME_CANCELLED
    unknown = messages_pb2.CancelRequest(topic=TOPIC, id="nobody")
    assert messages.Cancel(unknown).outcome == messages_pb2.CANCEL_OUTCOME_NOT_FOUND


def receive(broker):
    request = broker_pb2.ReceiveRequest(topic=TOPIC, subscription=SUBSCRIPTION, max=10)
    return list(broker.Receive(request).messages)


def consume(broker, admin, ids):
    admin.AdvanceClock(admin_pb2.AdvanceClockRequest(by_ms=15 * MINUTE_MS - 1))
    assert receive(broker) == [], "nothing early"
    admin.AdvanceClock(admin_pb2.AdvanceClockRequest(by_ms=1))

    # A cancelled stream is a lost connection: the attempt is raised.
    stream = Stream(broker)
    stream.send(credit=broker_pb2.Credit(n=1))
    [delivery] = stream.deliveries()
    assert (delivery.id, delivery.body, delivery.attempt) == (ids[0], b"\x00order 42\xff", 1), delivery
    assert dict(delivery.headers) == {"kind": "timeout", "amount": "12,50 \u20ac"}
    assert delivery.delivered_at_unix_ms >= delivery.deliver_at_unix_ms
    stream.call.cancel()

    # A half-closed stream gives back with the attempt kept.
    stream = Stream(broker)
    stream.send(credit=broker_pb2.Credit(n=1))
    [delivery] = stream.deliveries()
    assert (delivery.id, delivery.attempt) == (ids[0], 2), delivery
    assert stream.half_close() == []

    stream = Stream(broker)
    stream.send(credit=broker_pb2.Credit(n=1))
    [delivery] = stream.deliveries()
    assert (delivery.id, delivery.attempt) == (ids[0], 2), delivery
    stream.send(ack=broker_pb2.Ack(request_id=7, receipts=[delivery.receipt, "made-up"]))
    assert stream.results(7) == [broker_pb2.RECEIPT_OUTCOME_ACKED, broker_pb2.RECEIPT_OUTCOME_INVALID]
    assert stream.half_close() == []
    assert receive(broker) == [], "43 was cancelled, 42 is acked"


def refused(broker):
    try:
        broker.Publish(broker_pb2.PublishRequest(topic="no such name"))
    except grpc.RpcError as error:
        assert error.code() == grpc.StatusCode.INVALID_ARGUMENT, error
        reason, domain, metadata = error_info(error)
        assert (reason, domain) == ("invalid_name", "punctual"), (reason, domain)
        assert metadata["field"] == "topic" and metadata["kind"] == "invalid", metadata
    else:
        raise AssertionError("a bad name was taken")
    bad = message_pb2.NewMessage(body=b"x", delay_ms=-1)
    [result] = broker.Publish(broker_pb2.PublishRequest(topic=TOPIC, messages=[bad])).results
    assert (result.error.code, result.error.field) == ("invalid_duration", "delay"), result


def main(address):
    with grpc.insecure_channel(address) as channel:
        broker = broker_pb2_grpc.BrokerStub(channel)
        messages = messages_pb2_grpc.MessagesStub(channel)
        admin = admin_pb2_grpc.AdminStub(channel)
        ids = publish_delayed(broker)
        pipeline(broker)
        look_and_cancel(messages, ids)
        consume(broker, admin, ids)
        refused(broker)
    print("done")


if __name__ == "__main__":
    main(sys.argv[1])
