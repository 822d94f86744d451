# SPDX-License-Identifier: MIT
"""An orderly end of healerd while a healing makes requests: what it waits for, and what is in doubt then."""
import http.server
import signal
import subprocess
import threading

import healings
import support


class Server:
    """Answers a request when it may; until then it is held. All are counted."""

    def __init__(self) -> None:
        self.calls: list[str] = []
        self.may = {"POST": threading.Event(), "GET": threading.Event()}
        server = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def serve(self) -> None:
                self.rfile.read(int(self.headers.get("Content-Length") or 0))
                server.calls.append(self.command)
                server.may[self.command].wait()
                try:
                    self.send_response(200)
                    self.send_header("Content-Length", "14")
                    self.end_headers()
                    self.wfile.write(b'{"done": true}')
                except OSError:
                    pass  # nobody waits for it any more

            do_GET = do_POST = serve

            def log_message(self, *_args) -> None:
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.thread = threading.Thread(target=self.server.serve_forever)
        self.thread.start()

    def url(self) -> str:
        return f"http://127.0.0.1:{self.server.server_port}/"

    def stop(self) -> None:
        for event in self.may.values():
            event.set()
        self.server.shutdown()
        self.server.server_close()
        self.thread.join()


class Ending(healings.Case):
    def setUp(self) -> None:
        super().setUp()
        self.server = Server()
        self.addCleanup(self.server.stop)
        self.put("broken.node")
        self.put("heals.mend")

    def begin(self, more: str = "", options: tuple[str, ...] = ()) -> support.Daemon:
        """A daemon whose healing has sent its request."""
        daemon = self.start(self.service("node") + 'workflow rebuild {\n  guard program "/bin/true"\n'
                            f'  step "mark" http post "{self.server.url()}" body \'{{}}\' timeout 1 hour\n{more}'
                            f'  step "mend" {self.program("mend")}\n  step "verify" recovered within 1 hour\n'
                            "  cooldown 1 hour\n}\n", options=options)
        self.wait_for(lambda: self.server.calls, "the request", detail=lambda: "\n".join(self.texts(daemon)))
        return daemon

    def wait_log(self, daemon: support.Daemon, words: str) -> None:
        self.wait_for(lambda: words in daemon.log_text(), words, detail=daemon.log_text)

    def wait_end(self, daemon: support.Daemon) -> None:
        self.wait_for(daemon.ended, "the end of healerd", detail=daemon.log_text)
        self.assertEqual(daemon.process.returncode, 0)

    def awaited(self) -> str:
        return f'for the answer to POST {self.server.url()} (healing of node with rebuild, step "mark")'

    def test_an_orderly_end_waits_for_the_answer_to_a_request_and_begins_nothing(self):
        daemon = self.begin()
        daemon.process.terminate()
        self.wait_log(daemon, f"healer is to end, and waits, for 20 s at most, {self.awaited()}")
        self.assertFalse(daemon.ended())
        self.server.may["POST"].set()
        self.wait_end(daemon)
        self.assertEqual(self.trace(), [])
        daemon.launch()
        self.wait_told(daemon, "healing of node with rebuild recovered")
        self.assertEqual(self.server.calls, ["POST"])
        self.assertEqual(self.trace(), ["node mend"])
        self.assertFalse(any("died" in text for text in self.texts(daemon)))

    def test_a_second_signal_ends_it_now_and_the_request_is_in_doubt(self):
        daemon = self.begin()
        daemon.process.terminate()
        self.wait_log(daemon, self.awaited())
        daemon.process.terminate()
        self.wait_end(daemon)
        self.assertIn("healer ends without the answer to POST", daemon.log_text())
        daemon.launch()
        self.wait_told(daemon, "healing of node with rebuild failed: step \"mark\" POST")
        self.assertTrue(any("healer was restarted before the answer came; whether it was done is unknown" in text
                            for text in self.texts(daemon)))
        self.assertFalse(any("died" in text for text in self.texts(daemon)))
        self.assertEqual((self.server.calls, self.trace()), (["POST"], []))

    def test_it_waits_no_longer_than_its_grace(self):
        daemon = self.begin(options=("--grace", "1", "seconds"))
        daemon.process.terminate()
        self.wait_end(daemon)
        self.assertIn("healer is to end, and waits, for 1 s at most, ", daemon.log_text())
        self.assertIn("it was awaited for 1 s", daemon.log_text())

    def test_quit_says_for_what_it_waits(self):
        daemon = self.begin()
        with subprocess.Popen([str(support.BUILD / "healerctl"), "--socket", str(daemon.socket), "quit"],
                              stdout=subprocess.PIPE, text=True) as quit_:
            self.assertEqual(quit_.stdout.readline(), f"healerd waits, for 20 s at most, {self.awaited()}\n")
            self.server.may["POST"].set()
            self.assertEqual(quit_.stdout.read(), "healerd has ended\n")
            self.assertEqual(quit_.wait(support.LIMIT), 0)
        self.wait_end(daemon)

    def test_whether_what_a_request_began_is_done_is_not_waited_for(self):
        self.server.may["POST"].set()
        daemon = self.begin(f'    until get "{self.server.url()}" json \'.done\' = true every 100 ms within 1 hour\n')
        self.wait_for(lambda: "GET" in self.server.calls, "a question", detail=lambda: "\n".join(self.texts(daemon)))
        daemon.process.send_signal(signal.SIGTERM)
        self.wait_end(daemon)
        self.assertNotIn("waits", daemon.log_text())
        self.server.may["GET"].set()
        daemon.launch()
        self.wait_told(daemon, "healing of node with rebuild recovered")
        self.assertEqual(self.server.calls.count("POST"), 1)

    # ---- a state that is older than what was done

    def remove_log(self, daemon: support.Daemon) -> None:
        for suffix in ("-wal", "-shm"):
            (daemon.folder / f"healer.state{suffix}").unlink()

    def wait_doubt(self, daemon: support.Daemon) -> None:
        self.wait_told(daemon, 'healing of node with rebuild failed: step "mark" POST')
        self.assertTrue(any("healer was restarted before the answer came; whether it was done is unknown" in text
                            for text in self.texts(daemon)))
        self.assertIn("healings that were under way go by that file", daemon.log_text())
        self.more_cycles(daemon, 3)
        self.assertEqual((self.server.calls, self.trace()), (["POST"], []))

    def test_a_request_is_not_made_again_where_the_log_of_the_state_was_removed(self):
        daemon = self.begin()
        daemon.kill()
        self.remove_log(daemon)
        daemon.launch()
        self.wait_doubt(daemon)

    def test_nor_where_an_older_state_was_copied_back(self):
        other = self.start('check program calm with path "/bin/true"\n  if status != 0 then alert\n', name="other")
        other.stop()
        older = (other.folder / "healer.state").read_bytes()
        daemon = self.begin()
        daemon.kill()
        self.remove_log(daemon)
        (daemon.folder / "healer.state").write_bytes(older)
        daemon.launch()
        self.wait_doubt(daemon)

    def test_a_program_goes_on_where_the_log_was_removed(self):
        self.put("hold.mend")
        self.server.may["POST"].set()
        daemon = self.begin()
        self.wait_trace("node mend", daemon)
        daemon.kill()
        self.remove_log(daemon)
        self.take("hold.mend")
        daemon.launch()
        self.wait_told(daemon, "healing of node with rebuild recovered")
        self.assertEqual((self.server.calls, self.trace()), (["POST"], ["node mend"]))

    def test_a_healing_that_was_over_is_not_begun_again_in_the_middle(self):
        self.server.may["POST"].set()
        daemon = self.begin()
        self.wait_told(daemon, "healing of node with rebuild recovered")
        daemon.kill()
        self.remove_log(daemon)
        daemon.launch()
        self.more_cycles(daemon, 3)
        self.assertEqual((self.server.calls, self.trace()), (["POST"], ["node mend"]))

    def test_a_grace_that_is_none_is_refused(self):
        done = subprocess.run([str(support.BUILD / "healerd"), "--grace", "long"], capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 1)
        self.assertIn('--grace long: not a duration (such as 8s or "8 seconds")', done.stderr)


if __name__ == "__main__":
    support.main()
