import { hostname } from 'node:os'
import { createInterface } from 'node:readline/promises'
import { text } from 'node:stream/consumers'
import { Writable } from 'node:stream'
import { type Api, createApi, objectOf } from '../api.ts'
import { configurationFile, deleteConfiguration, readConfiguration, writeConfiguration } from '../configuration.ts'
import { CommandError } from '../exit-codes.ts'
import { details, fields, table, textOf } from '../output.ts'
import { type GlobalOptions, type Membership, listMemberships, readCa } from '../session.ts'
import type { AddCommands } from './command.ts'

/** Commands about the account of the command line. */
export const addAccountCommands: AddCommands = (program, open) => {
  program
    .command('login')
    .description('sign in with an e-mail address and a password, and store an API token on this machine')
    .option('--token-stdin', 'read a token from the standard input instead')
    .action(async ({ tokenStdin }: { tokenStdin?: true }, command) => {
      const { env, output } = open(command)
      const { url, ca: caFile, org } = command.optsWithGlobals() as GlobalOptions
      const server = url ?? env['SIGNALBOX_URL'] ?? (await readConfiguration(env))?.url
      if (server === undefined) throw new CommandError('usage', 'name the server by --url')
      // A token that can't be stored must not be created.
      const file = configurationFile(env)
      const ca = caFile === undefined ? undefined : await readCa(caFile)
      const options = { url: server, ...(ca !== undefined && { ca }) }
      const token = tokenStdin === true ? (await text(process.stdin)).trim() : await createToken(options)
      const api = createApi({ ...options, headers: { authorization: `Token ${token}` } })
      try {
        const memberships = await listMemberships(api)
        const only = defaultOrg(memberships, org)
        await writeConfiguration(file, {
          ...options,
          url: api.url,
          token,
          ...(only !== undefined && { org_id: only.id }),
        })
        output.show(
          { url: api.url, org_id: only?.id ?? null },
          () => `signed in at ${api.url}${only === undefined ? '' : `, organization ${only.name}`}`,
        )
      } finally {
        await api.close()
      }
    })

  program
    .command('logout')
    .description('remove the stored token from this machine; it stays valid until it is deleted or expires')
    .action(async (_options, command) => {
      const { env, output } = open(command)
      await deleteConfiguration(env)
      output.show({ signed_in: false }, () => 'signed out')
    })

  program
    .command('whoami')
    .description('show who is signed in')
    .action(async (_options, command) => {
      const session = open(command)
      const api = await session.connect()
      const self = objectOf(await api.get('/api/v1/self'))
      const { email, name, first_name, last_name } = self
      session.output.show(self, () =>
        details({
          server: api.url,
          email: email ?? null,
          name: name ?? [first_name, last_name].map(textOf).join(' ').trim(),
        }),
      )
    })

  program
    .command('orgs')
    .description('list your organizations')
    .action(async (_options, command) => {
      const session = open(command)
      const rows = await listMemberships(await session.connect())
      session.output.show(rows, () => table(fields('name', 'role', 'scope', 'id'), rows, session.width))
    })
}

/** The organization that commands concern from now on: the named one, or the only one. */
function defaultOrg(memberships: readonly Membership[], named: string | undefined): Membership | undefined {
  if (named !== undefined) {
    const found = memberships.find(({ id, name }) => id === named || name === named)
    if (found === undefined) throw new CommandError('usage', `you are in no organization ${JSON.stringify(named)}`)
    return found
  }
  return new Set(memberships.map(({ id }) => id)).size === 1 ? memberships[0] : undefined
}

/** Signs in by password, creates a token whose name contains the machine's, and ends the session. */
async function createToken(options: { readonly url: string; readonly ca?: string }): Promise<string> {
  if (!process.stdin.isTTY)
    throw new CommandError('usage', 'there is no terminal to ask for a password: give a token by --token-stdin')
  const email = await ask('E-mail: ')
  const password = await ask('Password: ', 'hidden')
  const cookie = await signIn(options, { email, password })
  const api = createApi({ ...options, headers: cookie })
  try {
    const { key } = objectOf(await api.post('/api/v1/self/apitokens', { name: `signalbox on ${hostname()}` }))
    await api.post('/api/v1/logout')
    return textOf(key)
  } finally {
    await api.close()
  }
}

type Credentials = Readonly<Record<'email' | 'password', string>>

async function signIn(
  options: { readonly url: string; readonly ca?: string },
  credentials: Credentials,
): Promise<Record<string, string>> {
  const api: Api = createApi({ ...options, headers: {} })
  try {
    const login = (body: Record<string, string>) => api.send({ method: 'POST', path: '/api/v1/login', body })
    let answer = await login(credentials)
    const { two_factor_required: isRequired, two_factor_passed: hasPassed } = objectOf(answer.body)
    if (isRequired === true && hasPassed !== true)
      answer = await login({ ...credentials, two_factor: await ask('Code of the second factor: ') })
    const cookies = answer.headers.getSetCookie().map((each) => each.replace(/;.*/, ''))
    const csrf = cookies.find((each) => /csrftoken/i.test(each))?.replace(/^[^=]*=/, '') ?? ''
    return { cookie: cookies.join('; '), 'x-csrftoken': csrf, referer: api.url, origin: new URL(api.url).origin }
  } finally {
    await api.close()
  }
}

/** Prompts at the terminal. `hidden` does not echo the input. */
async function ask(question: string, visibility: 'shown' | 'hidden' = 'shown'): Promise<string> {
  const muted = new Writable({ write: (_chunk, _encoding, done) => done() })
  // From here on the terminal echoes nothing by itself, not even what is typed before the prompt appears.
  const lines = createInterface({
    input: process.stdin,
    output: visibility === 'hidden' ? muted : process.stderr,
    terminal: true,
  })
  process.stderr.write(question)
  try {
    return await lines.question('')
  } finally {
    lines.close()
    if (visibility === 'hidden') process.stderr.write('\n')
  }
}
