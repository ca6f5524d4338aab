"""Why a device waits, and what each cure would bring: measured, explained, and cured on request.

    from myxtts.doctor import diagnose
    print(diagnose(dataset, step))      # any tf.data.Dataset, Python iterable or PyTorch DataLoader; any step function

Promises: one vocabulary of verdicts for all rooms; a prediction for each cure. It may look into every room below.
Must not: be imported by a room that it looks into; change anything of the user's.
"""

from myxtts.doctor.diagnosis import Diagnosis, diagnose, judge

__all__ = ["Diagnosis", "diagnose", "judge"]
