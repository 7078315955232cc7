import { existsSync, globSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'
import { acceptedParameters } from '../src/http/accepted-parameters.ts'

const pathOf = (relative: string): string => fileURLToPath(new URL(`../${relative}`, import.meta.url))

const documents = globSync(['*.md', 'docs/*.md', 'docs/decisions/*.md'], { cwd: pathOf('.') })
  // It names files as they were named at the time.
  .filter((name) => name !== 'CHANGELOG.md')

/** The folders in which a file may be that a document names without its root. */
const roots = ['.', 'src', 'test']

/** The output of `npm run build-agent` is named too, and is not in a clone. */
const built = 'dist/'

/** @returns The anchors that GitHub gives to the headings of a document. */
function anchorsOf(name: string): Set<string> {
  const text = readFileSync(pathOf(name), 'utf8').replaceAll(/^```.*?^```/gms, '')
  const headings = [...text.matchAll(/^#+ (.*)$/gm)].map(([, heading = '']) => heading)
  return new Set(
    headings.map((heading) =>
      heading
        .toLowerCase()
        .replaceAll(/[^\p{L}\p{N}_ -]/gu, '')
        .replaceAll(' ', '-'),
    ),
  )
}

describe('the documents', () => {
  it.each(documents)('name only files that exist: %s', (name) => {
    const text = readFileSync(pathOf(name), 'utf8')
    const files = [...text.matchAll(/`([\w-]+(?:\/[\w-]+)+(?:\.\w+)*\.(?:ts|mjs|cjs|sql|md))`/g)].map(
      ([, path = '']) => path,
    )
    const kept = files.filter((path) => !path.startsWith(built))
    const missing = kept.filter((path) => !roots.some((root) => existsSync(pathOf(join(root, path)))))
    expect(missing).toEqual([])
  })

  it.each(documents)('link only to files that exist: %s', (name) => {
    const text = readFileSync(pathOf(name), 'utf8')
    const links = [...text.matchAll(/\]\((?!https?:)([^)#\s]+)(?:#[^)]*)?\)/g)].map(([, path = '']) => path)
    const missing = links.filter((path) => !existsSync(pathOf(join(dirname(name), path))))
    expect(missing).toEqual([])
  })

  it.each(documents)('link only to headings that exist: %s', (name) => {
    const text = readFileSync(pathOf(name), 'utf8')
    const missing = [...text.matchAll(/\]\((?!https?:)([^)#\s]*)#([^)\s]+)\)/g)]
      .map(([, path = '', anchor = '']) => ({ target: path === '' ? name : join(dirname(name), path), anchor }))
      .filter(({ target, anchor }) => target.endsWith('.md') && !anchorsOf(target).has(anchor))
    expect(missing).toEqual([])
  })
})

it('the map of the specification gives the reason of every query parameter without effect', () => {
  const [, table = ''] = readFileSync(pathOf('docs/spec-map.md'), 'utf8').split('### Query parameters without effect')
  const rows = [...table.matchAll(/^\| (`.*) \| (`.*) \| (.*) \|$/gm)]
  const named = (cell = '') => [...cell.matchAll(/`(\w+)`/g)].map(([, name = '']) => name)
  const documented = rows.flatMap(([, ids, names, reason = '']) =>
    named(ids).flatMap((id) => named(names).map((name) => `${id} ${name}: ${reason}`)),
  )
  const declared = Object.entries(acceptedParameters).flatMap(([id, parameters]) =>
    Object.entries(parameters).map(([name, reason]) => `${id} ${name}: ${reason}`),
  )
  expect(documented.toSorted()).toEqual(declared.toSorted())
})

it('the page for clients has every status of a refusal', () => {
  const [, table = ''] = readFileSync(pathOf('docs/clients.md'), 'utf8').split('| status | meaning |')
  const explained = new Set([...table.matchAll(/^\| ([\d, ]+) \|/gm)].flatMap(([, cell = '']) => cell.split(', ')))
  const refusals = readFileSync(pathOf('docs/openapi.json'), 'utf8').matchAll(/"(4\d\d|5\d\d)": \{/g)
  const published = new Set([...refusals].map(([, status]) => status))
  expect(published.size).toBeGreaterThan(5)
  expect([...published].filter((status) => !explained.has(String(status)))).toEqual([])
})

it('the index of decisions has each of them once, by its title', () => {
  const index = readFileSync(pathOf('docs/decisions/README.md'), 'utf8')
  const listed = [...index.matchAll(/^- \[(.+)\]\((\d{4}-.+\.md)\)/gm)].map(([, title, file]) => `${file}: ${title}`)
  const files = globSync('0*.md', { cwd: pathOf('docs/decisions') })
  const titles = files.map((file) => {
    const [title = ''] = readFileSync(pathOf(`docs/decisions/${file}`), 'utf8').split('\n')
    return `${file}: ${title.replace('# ', '')}`
  })
  expect(listed.toSorted()).toEqual(titles.toSorted())
})

it('the grid of ARCHITECTURE.md names every folder', () => {
  const [, grid = ''] = readFileSync(pathOf('ARCHITECTURE.md'), 'utf8').split('```\n')
  const nouns = new Map(
    [...grid.matchAll(/^ {2}(\w+)\/ +(.*(?:\n {6,}.*)*)/gm)].map(([, noun = '', text = '']) => [
      noun,
      new Set(text.match(/[\w-]+/g)),
    ]),
  )
  const missing = globSync('*/{,*/}', { cwd: pathOf('src') }).filter((path) => {
    const [noun = '', folder] = path.split('/')
    const words = nouns.get(noun)
    return words === undefined || (folder !== undefined && folder !== '' && !words.has(folder))
  })
  expect(missing).toEqual([])
})
