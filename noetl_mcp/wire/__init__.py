"""The wire: requests to servers, and what came of them."""
