"""The tests of the scripts. They use the libraries of scripts/requirements.txt, so those are fetched where they are missing."""

from apiary_cli.verbs import setup

setup.fetch_libraries()
