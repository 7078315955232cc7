import { readFileSync, statSync } from 'node:fs'

/** A change is noticed after this time at the latest. */
const LOOK_EVERY_MS = 1000

/**
 * Returns what `parse` makes of the file, read again when it has changed; of an empty text where it can't be read. It
 * reads synchronously, because asynchronous file calls would queue behind look-ups of the system's resolver that hang.
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
    // Gone since, or not readable for us: then it says nothing to us.
    return ''
  }
}
