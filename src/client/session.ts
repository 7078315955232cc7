import { readFile } from 'node:fs/promises'
import type { Command } from 'commander'
import { type Api, createApi, objectOf, rowsOf } from './api.ts'
import { type Configuration, readConfiguration } from './configuration.ts'
import { CommandError } from './exit-codes.ts'
import { type Output, type Terminal, USUAL_COLUMNS, createOutput, textOf } from './output.ts'
import { messageOf } from '../platform/message-of.ts'

/** The environment of a command: its output, and the server to which the person has signed in. */
export interface Session {
  readonly env: Surroundings['env']
  readonly output: Output
  /** Columns of the terminal. */
  readonly width: number
  /** Aborts when the person interrupts the command. */
  readonly interrupted: AbortSignal
  /** @throws CommandError signedOut. */
  connect(): Promise<Api>
  /** Returns the id of the organization that the command concerns. @throws CommandError usage. */
  orgId(api: Api): Promise<string>
}

export interface GlobalOptions {
  readonly url?: string
  readonly org?: string
  readonly ca?: string
  readonly json?: true
}

/** The surroundings of the program. */
export interface Surroundings {
  readonly terminal: Terminal
  readonly env: Readonly<Record<string, string | undefined>>
  /** Aborts when the person interrupts the program. */
  readonly interrupted: AbortSignal
  /** Collects the connections that commands open; the caller of the program closes them. */
  readonly opened: Api[]
}

/**
 * Creates the session of a command from its options, the environment, and the file that `login` has written, in this
 * order.
 */
export function openSession(command: Command, { terminal, env, interrupted, opened }: Surroundings): Session {
  const options = command.optsWithGlobals<GlobalOptions>()
  const { stdout } = terminal
  const stored = async (): Promise<Partial<Configuration>> => (await readConfiguration(env)) ?? {}
  return {
    env,
    output: createOutput(terminal, options.json === true),
    interrupted,
    width: stdout.isTTY === true ? (stdout.columns ?? USUAL_COLUMNS) : Infinity,
    async connect() {
      const known = await stored()
      const url = options.url ?? env['SIGNALBOX_URL'] ?? known.url
      // A token is only for the server that it was made by.
      const token = env['SIGNALBOX_TOKEN'] ?? (url === known.url ? known.token : undefined)
      if (url === undefined || token === undefined)
        throw new CommandError(
          'signedOut',
          'not signed in: run signalbox login, or set SIGNALBOX_URL and SIGNALBOX_TOKEN',
        )
      const ca = options.ca === undefined ? known.ca : await readCa(options.ca)
      const api = createApi({ url, headers: { authorization: `Token ${token}` }, ...(ca !== undefined && { ca }) })
      opened.push(api)
      return api
    },
    async orgId(api) {
      const named = options.org ?? env['SIGNALBOX_ORG'] ?? (await stored()).org_id
      return chooseOrg(api, named)
    },
  }
}

export async function readCa(path: string): Promise<string> {
  return readFile(path, 'utf8').catch((error: unknown) => {
    throw new CommandError('usage', `--ca: ${messageOf(error)}`)
  })
}

/** An organization of the caller, and their role in it. */
export type Membership = Readonly<Record<'id' | 'name' | 'role' | 'scope', string>>

export async function listMemberships(api: Api): Promise<Membership[]> {
  const { privileges = [] } = objectOf(await api.get('/api/v1/self'))
  return rowsOf(privileges).flatMap(({ org_id: orgId, name, role, scope }) =>
    typeof orgId === 'string'
      ? [{ id: orgId, name: textOf(name ?? ''), role: textOf(role), scope: textOf(scope) }]
      : [],
  )
}

/**
 * Returns the organization that is named, by its id or its name, or the only one.
 * @throws CommandError usage that lists them.
 */
async function chooseOrg(api: Api, named: string | undefined): Promise<string> {
  const memberships = await listMemberships(api)
  const fitting = new Set(
    memberships.filter(({ id, name }) => named === undefined || named === id || named === name).map(({ id }) => id),
  )
  const [orgId] = fitting
  if (orgId !== undefined && fitting.size === 1) return orgId
  const names = [...new Set(memberships.map(({ id, name }) => `${name} (${id})`))]
  const which =
    named === undefined ? 'name the organization by --org' : `no single organization is ${JSON.stringify(named)}`
  throw new CommandError('usage', names.length === 0 ? 'you are in no organization' : `${which}: ${names.join(', ')}`)
}
