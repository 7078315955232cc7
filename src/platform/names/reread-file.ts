import { readFileSync, statSync } from 'node:fs'

/** A change is noticed after this time at the latest. */
const LOOK_EVERY_MS = 1000

/**
 * Returns the parsed file, read again when it has changed; if it can't be read, the result of an empty text. It reads
 * synchronously, because asynchronous file calls would queue behind look-ups of the system's resolver that hang.
 * `nowMs` is monotonic.
 */
export function rereadFile<T>(path: string, parse: (text: string) => T, nowMs: () => number): () => T {
  let lookedMs = Number.NEGATIVE_INFINITY
  let version = ''
  let content = parse('')
  return () => {
    if (nowMs() - lookedMs < LOOK_EVERY_MS) return content
    lookedMs = nowMs()
    const found = versionOf(path)
    if (found === version) return content
    version = found
    content = parse(readText(path))
    return content
  }
}

/** Empty for a missing file. */
function versionOf(path: string): string {
  const stat = statSync(path, { throwIfNoEntry: false, bigint: true })
  return stat === undefined ? '' : `${stat.ino} ${stat.size} ${stat.mtimeNs}`
}

function readText(path: string): string {
  try {
    return readFileSync(path, 'utf8')
  } catch {
    // The file has been removed, or we may not read it: it counts as empty.
    return ''
  }
}
