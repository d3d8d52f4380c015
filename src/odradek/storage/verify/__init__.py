"""Checking data directories, of Apache Kafka or ours, without changing them: every batch, index and checkpoint.

verification = Verification(OsFiles())
verification.add("/var/lib/kafka")
for finding in verification.run():
    print(finding.severity.value, finding)
"""

from odradek.storage.verify.findings import Finding, Severity, Tally
from odradek.storage.verify.log_dir import LogDirCheck
from odradek.storage.verify.verification import NotADataDirectory, Verification

__all__ = ["Finding", "LogDirCheck", "NotADataDirectory", "Severity", "Tally", "Verification"]
