"""Pages on disk, and the ways to find them.

In the order of the data: `folder` (where a library's parts lie), `lock` (one writer), `schema` and
`catalogue` (what the library holds; `changes` changes it, `codec` packs a page), `analysis` and
`lexical` (search by words), `registry` (which encoders there are), `files`, `columns`, `publish`,
`loaded` and `segments` (vectors on disk), `graphs` and `maxsim` (their scores), `pooled` (a first
look at many), `ensemble` (several encoders as one), `places` (what a question can point at),
`pictures` (page images), `doctor` and `repair`.
The catalogue is the truth; all the rest is derived from it and can be made again.
"""
