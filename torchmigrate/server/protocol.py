"""The base protocol with the error responses that pygls leaves out."""

from __future__ import annotations

from typing import Any

from lsprotocol import types
from pygls.exceptions import JsonRpcException
from pygls.protocol import LanguageServerProtocol
from pygls.protocol.json_rpc import RPCMessage

_OURS = (
    types.TEXT_DOCUMENT_DID_OPEN,
    types.TEXT_DOCUMENT_DID_CHANGE,
    types.TEXT_DOCUMENT_DID_CLOSE,
    types.NOTEBOOK_DOCUMENT_DID_OPEN,
    types.NOTEBOOK_DOCUMENT_DID_CHANGE,
    types.NOTEBOOK_DOCUMENT_DID_CLOSE,
)


class StrictProtocol(LanguageServerProtocol):
    """Answers every request, and leaves the state of documents to the server.

    The documents of pygls take a form feed and other characters for line ends, which the protocol does not.
    """

    def _register_builtin_features(self) -> None:
        super()._register_builtin_features()  # type: ignore[no-untyped-call]
        for method in _OURS:
            del self.fm.builtin_features[method]

    def structure_message(self, data: dict[str, Any]) -> Any:
        """Return the message that ``data`` holds; answer an invalid request, and raise JsonRpcException."""
        try:
            return super().structure_message(data)
        except JsonRpcException as error:
            if "id" in data and "method" in data:
                self._send_response(data["id"], error=error.to_response_error())
            raise

    def handle_message(self, message: RPCMessage) -> None:
        """Handle a message, unless it comes before `initialize` or after `shutdown`."""
        method, identity = getattr(message, "method", None), getattr(message, "id", None)
        refused = self._find_refusal(method) if method is not None else None
        if refused is None:
            super().handle_message(message)
        elif identity is not None:
            self._send_response(identity, error=refused)

    def _find_refusal(self, method: str) -> types.ResponseError | None:
        if method == types.EXIT:
            return None
        if self._shutdown:
            return types.ResponseError(types.ErrorCodes.InvalidRequest.value, "the server is shutting down")
        if self._workspace is None and method != types.INITIALIZE:
            return types.ResponseError(
                types.ErrorCodes.ServerNotInitialized.value, "the first request must be `initialize`"
            )
        return None
