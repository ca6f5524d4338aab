"""A stand-in for the module pynvml (functions as in nvidia-ml-py 13), because no machine of ours has a GPU."""

from types import SimpleNamespace


class FakeNvml:
    """Answers as the module pynvml would; what is in `fails` raises instead."""

    class NVMLError(Exception):
        pass

    NVML_PCIE_UTIL_TX_BYTES, NVML_PCIE_UTIL_RX_BYTES = 0, 1
    NVML_GPM_METRICS_GET_VERSION, NVML_GPM_METRIC_SM_UTIL = 1, 2

    def __init__(self, gpus=1, fails=(), gpm=True, gpm_return=0):
        self.gpus, self.fails, self.gpm, self.gpm_return = gpus, set(fails), gpm, gpm_return
        self.opened = self.gpm_samples = self.taken = 0

    def __getattribute__(self, name):
        if name.startswith("nvml") and name in object.__getattribute__(self, "fails"):
            return self._fail
        return object.__getattribute__(self, name)

    def _fail(self, *_):
        raise self.NVMLError("Not Supported")

    def nvmlInit(self):
        self.opened += 1

    def nvmlShutdown(self):
        self.opened -= 1

    def nvmlDeviceGetCount(self):
        return self.gpus

    def nvmlDeviceGetHandleByIndex(self, index):
        return f"handle {index}"

    def nvmlDeviceGetName(self, handle):
        return b"Fake GPU"  # older versions of the package give bytes

    def nvmlSystemGetDriverVersion(self):
        return "0.fake"

    def nvmlDeviceGetUtilizationRates(self, handle):
        return SimpleNamespace(gpu=41, memory=7)

    def nvmlDeviceGetMemoryInfo(self, handle):
        return SimpleNamespace(total=24 << 30, used=2_000_000_000)

    def nvmlDeviceGetPowerUsage(self, handle):
        return 120_500

    def nvmlDeviceGetPcieThroughput(self, handle, counter):
        return {self.NVML_PCIE_UTIL_RX_BYTES: 5_000, self.NVML_PCIE_UTIL_TX_BYTES: 1_000}[counter]

    def nvmlGpmQueryDeviceSupport(self, handle):
        return SimpleNamespace(isSupportedDevice=int(self.gpm))

    def nvmlGpmSampleAlloc(self):
        self.gpm_samples += 1
        return SimpleNamespace(taken=None)

    def nvmlGpmSampleFree(self, sample):
        self.gpm_samples -= 1

    def nvmlGpmSampleGet(self, handle, sample):
        self.taken += 1
        sample.taken = self.taken

    def c_nvmlGpmMetricsGet_t(self):
        return SimpleNamespace(metrics=[SimpleNamespace(metricId=None, nvmlReturn=None, value=None)])

    def nvmlGpmMetricsGet(self, question):
        assert question.sample1.taken < question.sample2.taken, "samples must be given in the order of time"
        assert (question.version, question.numMetrics, question.metrics[0].metricId) == (1, 1, 2)
        question.metrics[0].nvmlReturn, question.metrics[0].value = self.gpm_return, 33.0
        return question
