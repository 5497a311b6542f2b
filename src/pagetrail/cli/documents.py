"""Commands that put documents in, take them out and show them."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from ..errors import UsageError
from .app import JsonOption, LibraryOption, PasswordOption, TagOption, app, library_at
from .output import added_line, data, describe, line, progress, save, say, tell

__all__ = ["add", "list_", "remove", "show", "tag"]


@app.command()
def add(
    # Strings: as a path, an empty name (an unset variable) would be the current folder.
    paths: Annotated[
        list[str], typer.Argument(help="Files and folders; folders are searched.", metavar="PATH")
    ],
    library: LibraryOption = None,
    tag: Annotated[
        list[str] | None,
        typer.Option("--tag", "-t", metavar="TAG", help="Tag the documents; may be repeated."),
    ] = None,
    password: PasswordOption = None,
    retry: Annotated[
        bool, typer.Option("--retry", help="Read the failed pages of partly read files again.")
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """Add files and folders. Unchanged files cost nothing, changed ones replace what was there."""
    counts = {"indexed": 0, "partial": 0, "failed": 0}
    with (
        library_at(library, write=True) as target,
        progress(enabled=not as_json or not sys.stdout.isatty()) as tick,
    ):
        for result in target.add_iter(
            paths, tags=tag or (), passwords=password or (), retry=retry, progress=tick
        ):
            counts[result.status] += 1
            if as_json:
                data(result.as_json())
            else:
                say(added_line(result))
    if not as_json:
        say("{indexed} indexed, {partial} partly, {failed} failed".format(**counts))
    if not sum(counts.values()):
        raise UsageError("nothing to add: no readable file under " + ", ".join(paths))
    if counts["failed"] == sum(counts.values()):
        raise typer.Exit(1)
    if counts["failed"] or counts["partial"]:
        raise typer.Exit(3)


@app.command()
def remove(
    documents: Annotated[
        list[str], typer.Argument(help="Path, name or id of each document.", metavar="DOC")
    ],
    library: LibraryOption = None,
    as_json: JsonOption = False,
) -> None:
    """Remove documents from the library; the files themselves stay."""
    with library_at(library) as target:
        for document in target.remove(documents):
            if as_json:
                data({"document": document.source, "removed": True})
            else:
                say(f"removed {document.source}")


@app.command(name="list")
def list_(
    library: LibraryOption = None, tag: TagOption = None, as_json: JsonOption = False
) -> None:
    """List the documents, a line each: status, pages, tags, path, and what is wrong."""
    from ..views import document_view

    with library_at(library) as target:
        for document in target.documents(tags=tag or ()):
            if as_json:
                data(document_view(document))
                continue
            tags = f"  [{', '.join(sorted(document.tags))}]" if document.tags else ""
            reason = f"  {document.reason}" if document.reason else ""
            tell(
                line(
                    f"{document.status:8} {document.page_count:5}  {document.source}{tags}{reason}"
                )
            )


@app.command()
def tag(
    document: Annotated[str, typer.Argument(help="Path, name or id.", metavar="DOC")],
    add_tags: Annotated[
        list[str] | None,
        typer.Option("--add", metavar="TAG", help="Tag to set; may be repeated."),
    ] = None,
    remove_tags: Annotated[
        list[str] | None,
        typer.Option("--remove", metavar="TAG", help="Tag to take away; may be repeated."),
    ] = None,
    library: LibraryOption = None,
    as_json: JsonOption = False,
) -> None:
    """Set or take away tags of a document, and show them."""
    with library_at(library) as target:
        found = target.tag(document, add=add_tags or (), remove=remove_tags or ())
        if as_json:
            data({"document": found.source, "tags": sorted(found.tags)})
        else:
            tell(line(f"{found.source}: {', '.join(sorted(found.tags)) or 'no tags'}"))


@app.command()
def show(
    document: Annotated[str, typer.Argument(help="Path, name or id.", metavar="DOC")],
    page: Annotated[
        int | None, typer.Argument(metavar="PAGE", help="1-based physical number.")
    ] = None,
    image: Annotated[
        Path | None,
        typer.Option(
            "--image",
            metavar="FILE.png",
            readable=False,
            help="Write the page's picture here.",
        ),
    ] = None,
    password: PasswordOption = None,
    library: LibraryOption = None,
    as_json: JsonOption = False,
) -> None:
    """Show a document, or what was read on one of its pages."""
    from ..views import document_view, page_view

    with library_at(library) as target:
        found = target.document(document)
        if page is None:
            if image is not None:
                raise UsageError("--image needs a page number")
            view = document_view(found)
            data(view) if as_json else tell(describe(view))
            return
        content = target.page(document, page)
        if image is not None:
            save(target.page_image(content.id, passwords=password or ()), image)
        if as_json:
            data(page_view(found, content))
        else:
            tell(content.text)
