import { existsSync, globSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'

const pathOf = (relative: string): string => fileURLToPath(new URL(`../${relative}`, import.meta.url))

const documents = globSync(['*.md', 'docs/*.md', 'docs/decisions/*.md'], { cwd: pathOf('.') })
  // It tells of files as they were named at the time.
  .filter((name) => name !== 'CHANGELOG.md')

/** Where a file may be that a document names without its root. */
const roots = ['.', 'src', 'test']

describe('the documents', () => {
  it.each(documents)('name only files that exist: %s', (name) => {
    const text = readFileSync(pathOf(name), 'utf8')
    const files = [...text.matchAll(/`([\w-]+(?:\/[\w-]+)+(?:\.\w+)*\.(?:ts|mjs|cjs|sql|md))`/g)].map(
      ([, path = '']) => path,
    )
    const missing = files.filter((path) => !roots.some((root) => existsSync(pathOf(join(root, path)))))
    expect(missing).toEqual([])
  })

  it.each(documents)('link only to files that exist: %s', (name) => {
    const text = readFileSync(pathOf(name), 'utf8')
    const links = [...text.matchAll(/\]\((?!https?:)([^)#\s]+)(?:#[^)]*)?\)/g)].map(([, path = '']) => path)
    const missing = links.filter((path) => !existsSync(pathOf(join(dirname(name), path))))
    expect(missing).toEqual([])
  })
})
