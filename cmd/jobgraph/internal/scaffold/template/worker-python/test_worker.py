"""Tests of the worker, without a bus: python3 -m unittest"""

import collections
import json
import unittest

import worker

Delivery = collections.namedtuple("Delivery", "subject reply payload")


class Bus:
    """Stands in for the connection: it keeps what is published, and says that every report is stored."""

    def __init__(self):
        self.published = []

    def publish(self, subject, payload, reply="", header=None):
        self.published.append((subject, payload, header))
        self.stored = worker.Message(reply, "2", "", 0, "", b'{"stream":"JOBS","seq":7}')

    def receive(self, seconds):
        return self.stored


def handle(payload):
    bus = Bus()
    worker.Worker("nats://127.0.0.1:4222", "words", "jobs").handle(bus, Delivery("jobs.work.x", "$JS.ACK.1", payload), "_INBOX.stored")
    return bus.published


def order(**more):
    return json.dumps({"report_subject": "jobs.event.report", "report_id": "id-1", **more}).encode()


class TestWork(unittest.TestCase):
    def test_counts_the_input_or_the_goal(self):
        self.assertEqual(worker.work({"inputs": {"text": "one two one"}, "goal": "Count"})["words"], 3)
        self.assertEqual(worker.work({"goal": "one two one"})["most"][0], ("one", 2))

    def test_an_empty_text_is_a_lesson_for_those_who_made_it(self):
        with self.assertRaises(worker.InputDataError):
            worker.work({"inputs": {"text": " "}})


class TestReports(unittest.TestCase):
    def test_a_report_is_stored_under_its_id_before_the_work_is_acknowledged(self):
        report, ack = handle(order(goal="one two"))
        self.assertEqual(report[0], "jobs.event.report")
        self.assertEqual(json.loads(report[1])["outcome"], "SUCCESS")
        self.assertEqual(report[2]["Nats-Msg-Id"], "id-1")
        self.assertEqual(ack, ("$JS.ACK.1", b"+ACK", None))

    def test_bad_input_is_reported_as_such(self):
        report, _ = handle(order(goal=""))
        self.assertEqual(json.loads(report[1])["outcome"], "INPUT_DATA_ERROR")

    def test_what_is_no_work_is_given_up(self):
        self.assertEqual(handle(b"{}"), [("$JS.ACK.1", b"+TERM", None)])


if __name__ == "__main__":
    unittest.main()
