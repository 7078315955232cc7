import { describe, expect, it } from 'vitest'
import { type Finding, compare } from './compare.ts'
import { countShortfalls, outdated, outdatedCorrections, unexplained } from './differences.ts'
import type { Document, Schema } from './openapi.ts'

interface Shapes {
  readonly query?: Readonly<Record<string, Schema>>
  readonly body?: Schema
  readonly reply?: Schema
}

const json = (schema: Schema) => ({ content: { 'application/json': { schema } } })

/** Returns a document with one operation, PUT /things/{PARAM}. */
function documentOf({ query = {}, body, reply }: Shapes, param = 'id'): Document {
  const parameters = Object.entries(query).map(([name, schema]) => ({ in: 'query', name, schema }))
  const spec = {
    operationId: 'updateThing',
    tags: ['Things'],
    parameters,
    ...(body && { requestBody: json(body) }),
    responses: { 200: reply ? json(reply) : {} },
  }
  return { paths: { [`/things/{${param}}`]: { put: spec } } }
}

function find(contract: Shapes, ours: Shapes): Pick<Finding, 'verdict' | 'fields'> | undefined {
  const [finding] = compare(documentOf(contract), documentOf(ours, 'thing_id'))
  return finding && { verdict: finding.verdict, fields: finding.fields }
}

const text = { type: 'string' }
const object = (properties: Record<string, Schema>, more: Schema = {}): Schema => ({
  type: 'object',
  properties,
  ...more,
})

it('finds an operation whatever the names of its path parameters are, and reports a missing one', () => {
  expect(find({}, {})).toEqual({ verdict: 'same', fields: [] })
  const [finding] = compare(documentOf({}), { paths: {} })
  expect(finding).toEqual({
    id: 'updateThing',
    method: 'PUT',
    path: '/things/{id}',
    tags: ['Things'],
    isTopic: false,
    verdict: 'missing',
    fields: [],
  })
})

describe('queries and bodies', () => {
  it('reports narrower where something is not accepted, and wider where more is', () => {
    expect(find({ query: { name: text } }, {})).toEqual({ verdict: 'narrower', fields: ['query.name: not taken'] })
    expect(find({}, { query: { name: text } })).toEqual({ verdict: 'wider', fields: [] })
    expect(find({ query: { n: { type: 'integer' } } }, { query: { n: text } })).toEqual({ verdict: 'same', fields: [] })
    expect(find({ body: object({}) }, {})).toEqual({ verdict: 'narrower', fields: ['body: not taken'] })
  })

  it('reports narrower where a type, a value or a number in bounds is refused', () => {
    const theirs = object({
      a: { type: ['string', 'null'] },
      b: { enum: ['x', 'y'] },
      c: { type: 'integer', minimum: 0 },
    })
    const ours = object({ a: { type: 'integer' }, b: { enum: ['x'] }, c: { type: 'number', minimum: 1 } })
    expect(find({ body: theirs }, { body: ours })?.fields).toEqual([
      'body.a: string refused',
      'body.b: y refused',
      'body.c: minimum 1 instead of 0',
    ])
  })

  it('treats undeclared fields as accepted unless they are refused, and reports narrower where more is required', () => {
    const theirs = { body: object({ a: text, deep: object({ b: text }) }) }
    expect(find(theirs, { body: object({}) })).toEqual({ verdict: 'same', fields: [] })
    const strict = object({ a: text, deep: object({}, { additionalProperties: false }) }, { required: ['a'] })
    expect(find(theirs, { body: strict })?.fields).toEqual(['body.a: required here', 'body.deep.b: not there'])
  })
})

describe('replies', () => {
  it('reports narrower where a promised field is optional or has another type', () => {
    const theirs = object({ id: text, count: { type: 'integer' } }, { required: ['id'] })
    const ours = object({ id: text, count: { type: 'number' } })
    expect(find({ reply: theirs }, { reply: ours })?.fields).toEqual([
      'reply.id: not always there',
      'reply.count: number instead of integer',
    ])
  })

  it('compares through arrays, references and alternatives with null', () => {
    const contract = documentOf({ reply: { $ref: '#/components/schemas/things' } })
    const components = {
      schemas: { things: { type: 'array', items: { allOf: [object({ a: text }), object({ b: text })] } } },
    }
    const nullable = { anyOf: [object({ a: text }), { type: 'null' }] }
    const [finding] = compare({ ...contract, components }, documentOf({ reply: { type: 'array', items: nullable } }))
    expect(finding?.fields).toEqual(['reply[]: null instead of object'])
    const open = { type: 'array', items: object({ a: text }, { additionalProperties: true }) }
    expect(compare({ ...contract, components }, documentOf({ reply: open }))).toMatchObject([
      { verdict: 'narrower', fields: ['reply[].b: not there'] },
    ])
  })

  it('takes an open reply for one that has what clients send, but not what only the service sets', () => {
    const thing = object({ a: text, own: { ...text, readOnly: true } })
    const contract = (sent: Schema) => {
      const document = documentOf({ body: sent, reply: { $ref: '#/components/schemas/thing' } })
      return { ...document, components: { schemas: { thing } } }
    }
    const ours = documentOf({ body: object({}), reply: object({}, { additionalProperties: true }) })
    expect(compare(contract({ $ref: '#/components/schemas/thing' }), ours)[0]?.fields).toEqual(['reply.own: not there'])
    expect(compare(contract(object({})), ours)[0]?.fields).toEqual(['reply.a: not there', 'reply.own: not there'])
  })

  it('takes as always there what the contract makes clients send', () => {
    const thing = object({ a: text, own: { ...text, readOnly: true } }, { required: ['a', 'own'] })
    const schema = { $ref: '#/components/schemas/thing' }
    const contract = { ...documentOf({ body: schema, reply: schema }), components: { schemas: { thing } } }
    const ours = documentOf({ body: object({}), reply: object({ a: text, own: text }, { additionalProperties: true }) })
    expect(compare(contract, ours)[0]?.fields).toEqual(['reply.own: not always there'])
  })

  it("compares files with files, and forms with what JSON can't contain", () => {
    const file = { type: 'string', format: 'binary' }
    const csv = { content: { 'text/csv': { schema: text } } }
    const withReply = (responses: object): Document => ({
      paths: { '/things': { get: { operationId: 'x', responses } } },
    })
    const contract = withReply({ 200: json(file) })
    expect(compare(contract, withReply({ 200: csv }))[0]?.verdict).toBe('same')
    expect(compare(contract, withReply({ 200: json(object({})) }))[0]?.fields).toEqual(['reply: no file'])
    const withBody = (requestBody: object): Document => ({
      paths: { '/things': { post: { operationId: 'x', requestBody } } },
    })
    const form = withBody({ content: { 'multipart/form-data': { schema: object({ file }) } } })
    expect(compare(withBody(json(object({ file }))), form)[0]?.verdict).toBe('same')
    expect(compare(withBody(json(object({ name: text }))), form)[0]?.fields).toEqual(['body: not taken'])
  })

  it("compares a webhook's messages by topic, however it is spelled", () => {
    const messages = (reply: Schema) => ({ post: { operationId: 'x', requestBody: json(reply) } })
    const contract = { paths: { '/webhook_example/_device_events_': messages(object({ a: text, b: text })) } }
    const ours = (topic: string) => ({ paths: {}, webhooks: { [topic]: messages(object({ a: text })) } })
    expect(compare(contract, ours('device-events'))[0]).toMatchObject({ isTopic: true, fields: ['reply.b: not there'] })
    expect(compare(contract, ours('alarms'))[0]?.verdict).toBe('missing')
  })
})

it('follows the contract where it corrects its own document, and knows a correction that nothing needs', () => {
  const contract = documentOf({ reply: { type: 'array', items: object({ a: text, b: text }) } })
  const ours = documentOf({ reply: { type: 'array', items: object({ b: text }) } })
  const correction = { fields: ['reply.a: not there'], operations: ['updateThing'], source: 'notes' }
  expect(compare(contract, ours, [correction])[0]).toMatchObject({ verdict: 'same', fields: [] })
  expect(compare(contract, ours, [{ ...correction, operations: ['getThing'] }])[0]?.verdict).toBe('narrower')
  expect(outdatedCorrections(compare(contract, ours), [correction])).toEqual([])
  expect(outdatedCorrections(compare(contract, contract), [correction])).toEqual([
    'updateThing: without reply.a: not there',
  ])
})

describe('the reasons', () => {
  const finding: Finding = {
    ...{ id: 'x', method: 'GET', path: '/x', tags: [], isTopic: false },
    ...{ verdict: 'narrower', fields: [] },
  }

  it('explain a difference wherever they name it, and nothing else', () => {
    expect(
      unexplained([{ ...finding, fields: ['reply[].msp_name: not there', 'reply.results[].msp_id: not there'] }]),
    ).toEqual([])
    expect(unexplained([{ ...finding, fields: ['body.surprise: required here'] }])).toEqual([
      'x: body.surprise: required here',
    ])
    expect(unexplained([{ ...finding, verdict: 'missing' }])).toEqual(['x: missing'])
  })

  it('are outdated where nothing differs', () => {
    expect(outdated([])).toEqual(expect.arrayContaining(['optimizeInstallerRrm: served', 'reply.cradlepoint: nowhere']))
  })

  it('distinguish answers without optional fields from refusals', () => {
    const counts = (...fields: string[]) => Object.values(countShortfalls([{ ...finding, fields }]))
    expect(counts('query.a: not taken', 'reply.a: not there')).toEqual([1, 0, 0, 0])
    expect(counts('reply.a: not always there', 'reply.b: not there')).toEqual([0, 1, 0, 0])
    expect(counts('reply.a: not there', 'reply.msp_id: not there')).toEqual([0, 0, 1, 0])
    expect(counts('reply[].msp_id: not there')).toEqual([0, 0, 0, 1])
    expect(countShortfalls([{ ...finding, verdict: 'missing' }])).toEqual(countShortfalls([]))
  })
})
