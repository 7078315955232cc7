import { type Schema, isSchema, listOf } from '../contract/openapi.ts'

/** The parts of the published document that the reference needs. */
export interface ReferenceDocument {
  readonly tags: readonly { readonly name: string; readonly description: string }[]
  readonly paths: Readonly<Record<string, Readonly<Record<string, object>>>>
  readonly components: Readonly<Record<string, Readonly<Record<string, Schema>>>>
}

interface Listed {
  readonly method: string
  readonly path: string
  readonly spec: Schema
}

const MADE = 'Made from `openapi.json` by `npm test -- test/http/openapi.test.ts --update`: do not edit.'

/** Markdown pages by file name: one for each tag, and `README.md`, which lists them. */
export function makeReference(document: ReferenceDocument): Map<string, string> {
  const pages = new Map<string, string>()
  const rows: string[] = []
  for (const { name, description } of document.tags) {
    const listed = operationsOf(document, name)
    const file = `${name.toLowerCase().replaceAll(/[^a-z0-9]+/g, '-')}.md`
    rows.push(`| [${name}](${file}) | ${listed.length} | ${description} |`)
    const sections = listed.map((operation) => describe(operation, document))
    pages.set(file, [`# ${name}`, `${description}. ${MADE}`, ...sections, ''].join('\n\n').trimEnd() + '\n')
  }
  const table = ['| group | operations | |', '|---|---|---|', ...rows].join('\n')
  pages.set(
    'README.md',
    `# Reference\n\nThe operations of the interface. ${MADE}\n\n${table}\n\n[Types of events](event-types.md) lists those of devices, edge appliances and upgrades.\n`,
  )
  return pages
}

function operationsOf({ paths }: ReferenceDocument, tag: string): Listed[] {
  return Object.entries(paths).flatMap(([path, item]) =>
    Object.entries(item).flatMap(([method, spec]) =>
      isSchema(spec) && listOf(spec['tags']).includes(tag) ? [{ method: method.toUpperCase(), path, spec }] : [],
    ),
  )
}

function describe({ method, path, spec }: Listed, document: ReferenceDocument): string {
  const parameters = listOf(spec['parameters'])
    .map((parameter) => resolve(document, parameter))
    .filter((parameter) => parameter['in'] === 'query')
  const { 200: success, ...errors } = isSchema(spec['responses']) ? spec['responses'] : {}
  const body = isSchema(spec['requestBody']) ? spec['requestBody'] : null
  const lines = [
    `Operation \`${String(spec['operationId'])}\`. ${String(spec['description'])}`,
    ...(body === null ? [] : [`- Body: ${contentOf(body)}${body['required'] === true ? '' : ' (may be missing)'}`]),
    `- Answer: ${contentOf(resolve(document, success))}`,
    `- Errors: ${Object.keys(errors).join(', ')}`,
  ]
  const table = ['| query | type | |', '|---|---|---|', ...parameters.map(describeParameter)].join('\n')
  const [what = '', ...list] = lines
  return [
    `## ${String(spec['summary'])}`,
    `\`${method} ${path}\``,
    what,
    list.join('\n'),
    ...(parameters.length > 0 ? [table] : []),
  ].join('\n\n')
}

function describeParameter({ name, required, deprecated, description, schema }: Schema): string {
  const { default: fallback } = isSchema(schema) ? schema : {}
  const notes = [
    ...(required === true ? ['required'] : []),
    ...(deprecated === true ? ['deprecated'] : []),
    ...(typeof description === 'string' ? [description] : []),
    ...(fallback === undefined ? [] : [`default ${JSON.stringify(fallback)}`]),
  ]
  return `| \`${String(name)}\` | ${escape(typeOf(schema))} | ${escape(notes.join('; '))} |`
}

/** The schemas of a body or an answer, with their content types where they are not JSON. */
function contentOf({ content }: Schema): string {
  const entries = Object.entries(isSchema(content) ? content : {})
  return entries
    .map(([type, media]) => {
      const what = typeOf(isSchema(media) ? media['schema'] : undefined)
      return type === 'application/json' ? what : `${what} as \`${type}\``
    })
    .join(', or ')
}

function typeOf(schema: unknown): string {
  if (!isSchema(schema)) return 'anything'
  const { $ref, items, anyOf, type, enum: values, pattern, format, minimum, maximum } = schema
  if (typeof $ref === 'string') return `\`${$ref.split('/').at(-1) ?? ''}\``
  if (Array.isArray(anyOf)) return anyOf.map(typeOf).join(' or ')
  if (Array.isArray(values)) return values.map((value) => `\`${String(value)}\``).join(', ')
  if (isSchema(items)) return `list of ${typeOf(items)}`
  const own = typeof type === 'string' ? type : listOf(type).join(' or ') || 'anything'
  if (typeof pattern === 'string') return `${own} like \`${pattern}\``
  const range = [minimum, maximum].map((bound) => (typeof bound === 'number' ? String(bound) : '')).join('..')
  return [own, ...(typeof format === 'string' ? [`(${format})`] : []), ...(range === '..' ? [] : [range])].join(' ')
}

/** A bar would end the cell of a table. */
function escape(text: string): string {
  return text.replaceAll('|', '\\|')
}

function resolve({ components }: ReferenceDocument, value: unknown): Schema {
  if (!isSchema(value)) return {}
  const { $ref } = value
  if (typeof $ref !== 'string') return value
  const [, , section = '', name = ''] = $ref.split('/')
  return components[section]?.[name] ?? {}
}
