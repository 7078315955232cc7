import { existsSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { acceptedParameters } from '../../src/http/accepted-parameters.ts'
import { answeredFields } from '../../scripts/contract/answered-fields.ts'
import { type Operation, operationsOf } from '../../scripts/contract/openapi.ts'
import type { AnyJson } from '../support/contract/any-json.ts'
import { documentedForms } from '../support/contract/documented-forms.ts'
import { type TestServer, startTestServer } from '../support/servers/server.ts'
import { formsOf } from './forms.ts'
import { nameOf, typeOf } from './meanings.ts'
import { type Searched, elsewhere, openTo, searched } from './operations.ts'
import { type World, makeWorld } from './world.ts'

const contractDir = fileURLToPath(new URL('../../../shared/contract/', import.meta.url))
const hasContract = existsSync(`${contractDir}contract.openapi.json`)
const readJson = (file: string): AnyJson => (hasContract ? JSON.parse(readFileSync(contractDir + file, 'utf8')) : {})
const contract = operationsOf({ paths: {}, ...readJson('contract.openapi.json') })
const addendum: readonly AnyJson[] = readJson('addendum.json').operations ?? []

/** Parameters that every page and every range has; lists.test.ts and search.test.ts test them. */
const common = new Set(['limit', 'page', 'start', 'end', 'duration', 'sort', 'desc_sort', 'distinct'])

let server: TestServer
let world: World
let operations: Map<string, Operation>
beforeAll(async () => {
  server = await startTestServer(undefined, { requestsPerHour: 1_000_000 })
  world = await makeWorld(server)
  const published = operationsOf((await server.call('GET', '/openapi.json')).body)
  operations = new Map([...published.values()].map((operation) => [operation.id, operation]))
})
afterAll(() => server.close())

/** How much of each order is read page by page: only where one page ends and the next one begins, a row can be lost. */
const MAX_PAGES = 3
const MAX_PAGE_ROWS = 4

const NO_ID = '00000000-0000-0000-0000-000000000000'
const made = { calls: 0, filtering: 0, accepted: 0, refused: 0, sorts: 0, counts: 0 }

async function call(
  id: string,
  query: Readonly<Record<string, string>> | [string, string][],
): Promise<{ status: number; body: AnyJson }> {
  const path = (operations.get(id)?.path ?? '').replace('/api/v1', '')
  const filled = path.replaceAll(/\{(\w+)\}/g, (_all, name: string) => encodeURIComponent(world.ids[name] ?? name))
  made.calls += 1
  return server.call('GET', `${filled}?${new URLSearchParams(query).toString()}`)
}

const rowsOf = (body: AnyJson): AnyJson[] => (Array.isArray(body) ? body : body.results)

/** The rows that an operation answers or counts. */
async function read(id: string, query: Readonly<Record<string, string>> = {}): Promise<AnyJson[]> {
  const whole = operations.get(id)?.query.has('limit') === true ? { limit: '1000' } : {}
  const { status, body } = await call(id, { ...whole, ...query })
  expect(status, `${id} ${JSON.stringify(query)} ${JSON.stringify(body)}`).toBe(200)
  return rowsOf(body)
}

const answers = new Map<string, Promise<AnyJson[]>>()

/** Like read(), but cached for comparisons in several tests: nothing changes while they run. */
async function readOnce(id: string, query: Readonly<Record<string, string>> = {}): Promise<AnyJson[]> {
  const key = JSON.stringify([id, query])
  const answer = answers.get(key) ?? read(id, query)
  answers.set(key, answer)
  return answer
}

/** Returns the operation's parameters without the one under test. */
function everyBut(name: string, { every = {} }: Searched): Record<string, string> {
  return Object.fromEntries(Object.entries(every).filter(([parameter]) => parameter !== name))
}

/** Lists the parameters of an operation in the contract, its addendum, the SDK and our document. */
function parametersOf(id: string): string[] {
  const own = [...(operations.get(id)?.query.keys() ?? [])]
  return [...new Set([...own, ...contractParameters(id), ...Object.keys(documentedForms[id] ?? {})])]
}

function contractParameters(id: string): string[] {
  const path = operations.get(id)?.path ?? ''
  const key = `GET ${path.replaceAll(/\{[^}]*\}/g, '{}')}`
  const declared = contract.get(key)?.query.keys() ?? []
  const added = addendum.filter(
    (operation) => `${operation.method} ${operation.path.replaceAll(/\{[^}]*\}/g, '{}')}` === key,
  )
  const inPath = new Set([...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name))
  const sent = added.flatMap(({ python, go }: AnyJson) => [python?.params ?? [], go?.query ?? []].flat())
  return [...declared, ...sent.filter((name: string) => !inPath.has(name) && name !== 'body')]
}

describe.each(Object.entries(searched))('%s', (id, search) => {
  const isCount = search.rowsOf !== undefined

  it('filters by each parameter that clients know, or refuses it by its name', async () => {
    for (const name of parametersOf(id)) {
      const effective = !(name in (acceptedParameters[id] ?? {}))
      const meaning = search.meanings[name]
      if (common.has(name) && effective) continue
      if (meaning === undefined) throw new Error(`no meaning of ${name}`)
      if (meaning.kind === 'refused') {
        const { status, body } = await call(id, { [name]: meaning.value })
        expect([status, body.detail]).toEqual([400, expect.stringContaining(`Invalid field ${name}: `)])
        made.refused += 1
        continue
      }
      await checkForms(id, search, name)
    }
  })

  async function checkForms(of: string, { meanings, key, every }: Searched, name: string): Promise<void> {
    const meaning = meanings[name]
    if (meaning === undefined) return
    const asks = isCount ? { ...every, ...everyBut(name, search) } : everyBut(name, search)
    const source = search.rowsOf ?? of
    const rows = await withDetails(
      await readOnce(source, isCount ? { ...searched[source]?.every } : { ...asks, ...wide(name, of) }),
    )
    const forms = formsOf(meaning, rows, documentedForms[of]?.[name] ?? [])
    for (const { value, matches } of forms) {
      const expected = rows.filter(matches)
      const what = `${of}?${name}=${value}`
      if (isCount) await expectCounted(of, { ...wide(name, of), ...asks, [name]: value }, expected.length, what)
      else {
        const found = await read(of, { ...asks, ...wide(name, of), [name]: value })
        expect(new Set(found.map((row) => row[key])), what).toEqual(new Set(expected.map((row) => row[key])))
        expect(found.length, what).toBe(expected.length)
      }
      if (meaning.kind === 'same') made.accepted += 1
      else made.filtering += 1
    }
  }

  it('sorts by every field that it declares, both ways', async () => {
    const sorts: unknown = operations.get(id)?.query.get('sort')?.['enum']
    for (const sort of Array.isArray(sorts) ? sorts.map(String) : []) {
      const rows = await readOnce(id, { ...search.every, sort })
      const name = sort.replace('-', '')
      const values = rows.map((row) => sortable(name, row)).filter(isSet)
      const ordered = values.toSorted((a, b) => (a < b ? -1 : Number(a > b)))
      expect(values, sort).toEqual(sort.startsWith('-') ? ordered.toReversed() : ordered)
      made.sorts += 1
    }
  })

  it('sorts by every field that it answers, and loses no row between pages', async () => {
    const operation = operations.get(id)
    const sorts: unknown = operation?.query.get('sort')?.['enum']
    if (!id.startsWith('search') || operation === undefined) return
    expect(Array.isArray(sorts), `${id} sorts`).toBe(true)
    const known = new Set(Array.isArray(sorts) ? sorts.map(String) : [])
    const rows = await readOnce(id, search.every)
    const answered = rows.flatMap((row) => Object.keys(row).filter((name) => typeof row[name] !== 'object'))
    const fields = new Set([...answered, ...answeredFields(operation)])
    expect([...fields].filter((name) => !known.has(name) || !known.has(`-${name}`))).toEqual([])
    for (const sort of known) {
      const all = await readOnce(id, { ...search.every, sort })
      // Few rows are two pages.
      const limit = Math.min(MAX_PAGE_ROWS, Math.ceil(all.length / 2))
      const paged: AnyJson[] = []
      for (let page = 1; page <= Math.min(MAX_PAGES, Math.ceil(all.length / limit)); page += 1)
        paged.push(...(await read(id, { ...search.every, sort, limit: String(limit), page: String(page) })))
      const keys = all.map((row) => row[search.key]).slice(0, MAX_PAGES * limit)
      expect(
        paged.map((row) => row[search.key]),
        sort,
      ).toEqual(keys)
    }
  })

  it('takes any text where the contract has any text, and finds nothing by one that no row has', async () => {
    for (const name of openTo[id] ?? []) {
      const found = await read(id, { ...everyBut(name, search), [name]: 'surely-not' })
      expect(found, name).toEqual([])
      made.filtering += 1
    }
  })

  it('refuses unknown and repeated parameters', async () => {
    for (const name of ['surely_not', '__proto__', 'Limit']) {
      const { status, body } = await call(id, { [name]: '1' })
      expect([status, body.detail]).toEqual([400, expect.stringContaining(`Invalid field ${name}: `)])
    }
    const twice = await call(id, [
      ['limit', '1'],
      ['limit', '2'],
    ])
    expect([twice.status, twice.body.detail]).toEqual([400, expect.stringContaining('Invalid field limit: ')])
    made.refused += 4
  })
})

const counting = Object.entries(searched).filter(([, { rowsOf }]) => rowsOf !== undefined)

it('counts nothing by a field that no event has', async () => {
  for (const distinct of ['surely_not', '__proto__', 'constructor'])
    expect((await call('countOrgSystemEvents', { distinct })).body).toMatchObject({ distinct, results: [], total: 0 })
})

describe.each(counting)('%s', (id, search) => {
  it('counts by every field that it declares', async () => {
    const { enum: only, examples: fields = only } = operations.get(id)?.query.get('distinct') ?? {}
    const source = search.rowsOf ?? ''
    const rows = await readOnce(source, searched[source]?.every ?? {})
    for (const distinct of Array.isArray(fields) ? fields.map(String) : []) {
      const counted = await read(id, { ...search.every, distinct })
      const values = rows.map((row) => sortable(distinct, row)).filter(isSet)
      made.counts += 1
      if (values.length === 0) continue
      const expected = [...new Set(values.map(String))].map((value) => [
        value,
        values.filter((one) => String(one) === value).length,
      ])
      const found = counted.filter((row) => distinct in row).map((row) => [row[distinct], row.count])
      expect(Object.fromEntries(found), distinct).toEqual(Object.fromEntries(expected))
    }
  })
})

/** A count counts as many rows as it lists values, for any field. */
async function expectCounted(id: string, query: Record<string, string>, expected: number, what: string): Promise<void> {
  const counts = await read(id, query)
  expect(
    counts.reduce((sum, { count }) => sum + count, 0),
    what,
  ).toBe(expected)
}

/** The other types of devices are found only on request. */
function wide(name: string, id: string): Record<string, string> {
  return name !== 'type' && searched[id]?.every?.['type'] !== undefined ? { type: 'all' } : {}
}

/** Claim codes and times that a search does not answer. */
async function withDetails(rows: readonly AnyJson[]): Promise<AnyJson[]> {
  const inventory = new Map((await readOnce('getOrgInventory')).map((item) => [item.mac, item]))
  return rows.map((row) => {
    const { magic, last_disconnected } = inventory.get(row.mac) ?? {}
    return {
      ...(magic !== undefined && { magic }),
      ...(last_disconnected !== undefined && { last_disconnected }),
      ...row,
    }
  })
}

/** Clients receive an empty text, or an id of zeros, where nothing is set. */
function isSet(value: AnyJson): boolean {
  return value !== undefined && value !== null && value !== '' && value !== NO_ID
}

function sortable(name: string, row: AnyJson): AnyJson {
  if (name === 'hostname' || name === 'last_hostname') return nameOf(row)
  if (name === 'type') return typeOf(row)
  if (name === 'text') return row.text?.slice(0, 1000)
  return row[name]
}

it('covers every search, count and filtered list', () => {
  const pages = new Set(['limit', 'page'])
  const read = [...operations.values()].filter(({ id, method, query }) => {
    const isRead =
      method === 'GET' &&
      (/^(search|count)/.test(id) ||
        /\/(devices|maps|stats|logs|inventory|mxedges|failures|mapstacks)\b/.test(operations.get(id)?.path ?? ''))
    return isRead && [...query.keys()].some((name) => !pages.has(name))
  })
  expect(read.map(({ id }) => id).filter((id) => !(id in searched) && !(id in elsewhere))).toEqual([])
})

it('prints what it has tried', () => {
  expect(made.filtering).toBeGreaterThan(500)
  // oxlint-disable-next-line no-console -- The figures belong to the report of the tests.
  console.log(JSON.stringify(made))
})
