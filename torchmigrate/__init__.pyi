from torchmigrate.library import Checked as Checked
from torchmigrate.library import ConfigError as ConfigError
from torchmigrate.library import FileError as FileError
from torchmigrate.library import Finding as Finding
from torchmigrate.library import Fixed as Fixed
from torchmigrate.library import Safety as Safety
from torchmigrate.library import Severity as Severity
from torchmigrate.library import check as check
from torchmigrate.library import fix as fix

__all__: list[str]
__version__: str
