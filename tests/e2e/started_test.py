# SPDX-License-Identifier: MIT
"""What was decided is started, once, at whatever moment healerd ends between the decision and the start."""
import signal

import support

FAULT = support.BUILD / "fsync_fault.so"


class Started(support.Case):
    def ends_at(self, at: int, number: int) -> None:
        """healerd gets the signal at the `at`-th fsync of the folder of actions, which never comes back."""
        if not FAULT.exists():
            self.skipTest(f"{FAULT} is not built")
        check = self.statuses("check", [0, 1])
        act = self.script("act", f"echo x >> {self.path('acted')}")
        daemon = self.configure(f'check program node with path "{check}"\n  if status != 0 then exec "{act}"\n')
        daemon.environment = {"LD_PRELOAD": str(FAULT), "HEALER_FSYNC_IN": str(daemon.folder / "healer.state.actions"),
                              "HEALER_FSYNC_AT": str(at), "HEALER_FSYNC_SIGNAL": str(int(number))}
        daemon.launch()
        daemon.process.wait(support.LIMIT)
        self.assertEqual(self.lines("acted"), 0)
        daemon.environment = {}
        for _ in range(2):
            daemon.launch()
            ended = lambda: [one for one in daemon.ask("history", "node")["records"]  # noqa: E731
                             if one["kind"] in ("action-ended", "action-failed")]
            self.wait_for(ended, "its end")
            self.assertIn("exited with status 0", ended()[0]["text"])
            before = self.runs("check")
            self.wait_for(lambda: self.runs("check") > before + 1, "two more runs")
            self.assertEqual((self.lines("acted"), len(ended())), (1, 1))
            daemon.stop()

    def test_a_kill_before_the_output_file_is_safe(self):
        self.ends_at(1, signal.SIGKILL)

    def test_a_kill_before_the_folder_is_safe(self):
        self.ends_at(2, signal.SIGKILL)

    def test_an_end_in_good_order_before_the_output_file_is_safe(self):
        self.ends_at(1, signal.SIGTERM)

    def test_an_end_in_good_order_before_the_folder_is_safe(self):
        self.ends_at(2, signal.SIGTERM)


if __name__ == "__main__":
    support.main()
