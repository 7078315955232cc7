import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type Finding, type Verdict, compare } from './compare.ts'
import { corrections } from './corrections.ts'
import { countShortfalls, unexplained } from './differences.ts'
import type { Document } from './openapi.ts'
import { messageOf } from '../../src/platform/message-of.ts'

/** Compares the OpenAPI document that the server serves (its committed copy) with a contract file. */
const ROOT = join(import.meta.dirname, '../..')
const VERDICTS: readonly Verdict[] = ['same', 'wider', 'narrower', 'missing']
const USAGE = `usage: npm run contract -- FILE [--tag TAG]... [--only ${VERDICTS.join('|')}] [--unexplained]

  FILE           OpenAPI document of the contract
  --tag          only operations with this tag; may be repeated
  --only         only findings of this kind
  --unexplained  only differences that docs/refusals.md gives no reason for; ends with 1 if there are some`

interface Options {
  readonly file: string
  readonly tags: readonly string[]
  readonly only: string | null
  readonly unexplained: boolean
}

function parseArguments(args: readonly string[]): Options {
  const rest = [...args]
  const options = { file: '', tags: [] as string[], only: null as string | null, unexplained: false }
  for (let arg = rest.shift(); arg !== undefined; arg = rest.shift()) {
    if (arg === '--tag') options.tags.push(rest.shift() ?? '')
    else if (arg === '--only') options.only = rest.shift() ?? ''
    else if (arg === '--unexplained') options.unexplained = true
    else if (options.file === '' && !arg.startsWith('-')) options.file = arg
    else throw new Error(USAGE)
  }
  const knows = (verdict: string): boolean => VERDICTS.some((known) => known === verdict)
  if (options.file === '' || (options.only !== null && !knows(options.only))) throw new Error(USAGE)
  return options
}

async function readDocument(file: string): Promise<Document> {
  const document: unknown = JSON.parse(await readFile(file, 'utf8'))
  if (typeof document !== 'object' || document === null || !('paths' in document))
    throw new Error(`${file} is no OpenAPI document`)
  return document as Document
}

async function main(): Promise<void> {
  const { file, tags, only, unexplained: isCheck } = parseArguments(process.argv.slice(2))
  const [contract, ours] = await Promise.all([readDocument(file), readDocument(join(ROOT, 'docs/openapi.json'))])
  const inScope = compare(contract, ours, corrections).filter(
    (finding) => tags.length === 0 || finding.tags.some((t) => tags.includes(t)),
  )
  const shown = inScope.filter(({ verdict }) => only === null || verdict === only)
  const lines = isCheck ? unexplained(shown) : shown.flatMap(linesOf)
  for (const line of lines) console.log(line)
  const operations = inScope.filter(({ isTopic }) => !isTopic)
  const { takingLess, answeringOtherwise, lackingFields, lackingNothing } = countShortfalls(operations)
  console.log(countsOf('operations', operations))
  console.log(
    `of the narrower operations, ${takingLess} take less than the contract, ${answeringOtherwise} answer something ` +
      `else, ${lackingFields} lack optional fields of answers, ${lackingNothing} lack only fields about things that ` +
      'no operation creates',
  )
  console.log(
    countsOf(
      'topics of webhooks',
      inScope.filter(({ isTopic }) => isTopic),
    ),
  )
  if (isCheck && lines.length > 0) process.exitCode = 1
}

function countsOf(what: string, findings: readonly Finding[]): string {
  const counts = VERDICTS.map((verdict) => {
    return `${findings.filter((finding) => finding.verdict === verdict).length} ${verdict}`
  })
  return `${findings.length} ${what}: ${counts.join(', ')}`
}

function linesOf({ verdict, method, path, id, fields }: Finding): string[] {
  return [`${verdict.padEnd(8)}  ${method.padEnd(6)} ${path}  ${id}`, ...fields.map((field) => `            ${field}`)]
}

// The runner has died.
process.once('disconnect', () => process.exit(1))

try {
  await main()
} catch (error) {
  console.error(`contract: ${messageOf(error)}`)
  process.exitCode = 1
}
process.disconnect?.()
