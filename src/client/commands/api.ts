import { readFile } from 'node:fs/promises'
import { text } from 'node:stream/consumers'
import { type Api, type Json, type JsonObject, objectOf } from '../api.ts'
import { CommandError } from '../exit-codes.ts'
import { textOf } from '../output.ts'
import { type AddCommands, type Pair, collectPairs } from './command.ts'
import { messageOf } from '../../platform/message-of.ts'

interface ApiOptions {
  readonly param?: readonly Pair[]
  readonly query?: readonly Pair[]
  readonly data?: string
}

/** The command that calls any operation of the interface. */
export const addApiCommand: AddCommands = (program, open) => {
  program
    .command('api <operation>')
    .description('call any operation of the interface by its id, such as getOrgInventory, and print its answer')
    .option('--param <name=value>', 'a part of the path; org_id is known; repeat it for several', collectPairs)
    .option('--query <name=value>', 'a parameter of the query; repeat it for several', collectPairs)
    .option('--data <json>', 'the body; @file reads a file, - the standard input')
    .action(async (id: string, options: ApiOptions, command) => {
      const session = open(command)
      const api = await session.connect()
      const { method, path } = await findOperation(api, id)
      const given = new Map(options.param)
      if (path.includes('{org_id}') && !given.has('org_id')) given.set('org_id', await session.orgId(api))
      const query = new URLSearchParams(
        options.query?.map(([name, value]): [string, string] => [name, value]),
      ).toString()
      const body = options.data === undefined ? undefined : parseBody(await readData(options.data))
      const { body: answer } = await api.send({
        method,
        path: fill(path, given) + (query === '' ? '' : `?${query}`),
        ...(body !== undefined && { body }),
      })
      session.output.show(answer, () => (typeof answer === 'string' ? answer : JSON.stringify(answer, null, 2)))
    })
}

interface Operation {
  readonly method: string
  readonly path: string
}

/** Finds an operation in the document that the server publishes. @throws CommandError usage that names similar ones. */
async function findOperation(api: Api, id: string): Promise<Operation> {
  const { paths } = objectOf(await api.get('/api/v1/openapi.json'))
  const operations = Object.entries(objectOf(paths)).flatMap(([path, methods]) =>
    Object.entries(objectOf(methods)).map(([method, operation]) => {
      return { id: textOf(objectOf(operation)['operationId']), method: method.toUpperCase(), path }
    }),
  )
  const found = operations.find((each) => each.id === id)
  if (found !== undefined) return found
  const similar = operations.filter((each) => each.id.toLowerCase().includes(id.toLowerCase())).slice(0, 10)
  const names = similar.map((each) => each.id).join(', ')
  throw new CommandError('usage', `there is no operation ${id}${names === '' ? '' : `; there are ${names}`}`)
}

/** @throws CommandError usage that names the missing or unknown parameter. */
function fill(path: string, given: ReadonlyMap<string, string>): string {
  const used = new Set<string>()
  const filled = path.replaceAll(/\{([^}]+)\}/g, (_whole, name: string) => {
    const value = given.get(name)
    if (value === undefined) throw new CommandError('usage', `${path} needs --param ${name}=...`)
    used.add(name)
    return encodeURIComponent(value)
  })
  const unused = [...given.keys()].find((name) => !used.has(name))
  if (unused !== undefined) throw new CommandError('usage', `${path} has no parameter ${unused}`)
  return filled
}

async function readData(data: string): Promise<string> {
  if (data === '-') return text(process.stdin)
  if (!data.startsWith('@')) return data
  return readFile(data.slice(1), 'utf8').catch((error: unknown) => {
    throw new CommandError('usage', `--data: ${messageOf(error)}`)
  })
}

function parseBody(content: string): Json {
  try {
    return JSON.parse(content) as JsonObject
  } catch (error) {
    throw new CommandError('usage', `--data is not JSON: ${messageOf(error)}`)
  }
}
