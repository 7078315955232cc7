import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { Command } from 'commander'
import { Type } from 'typebox'
import { Value } from 'typebox/value'
import { addListenCommand } from '../client/commands/webhooks.ts'
import { AppError } from '../platform/errors.ts'
import { readServerFile } from '../platform/server-file.ts'
import { version } from '../platform/version.ts'
import { type Client, createClient } from './client.ts'
import { addFirmwareCommands } from './firmware.ts'
import { messageOf } from '../platform/message-of.ts'

/** The largest page of a list. */
const PAGE_ROWS = 1000

/** Runs one command. @throws AppError with one line for the operator. */
export async function runCli(args: readonly string[]): Promise<void> {
  const program = new Command('cli')
    .description('Administers a Signalbox server. It needs read access to the data folder of the server.')
    .version(version)
    .option('--url <url>', 'address of the server; default: the one in the data folder')
    .option('--data-dir <dir>', 'data folder of the server', process.env['SIGNALBOX_DATA_DIR'] ?? 'data')
    .configureHelp({ showGlobalOptions: true })
  const operator = (): Promise<Client> => operatorClient(program.opts())

  program
    .command('bootstrap')
    .description('create an organization, its first administrator and an API token')
    .requiredOption('--email <address>', 'login name of the administrator')
    .requiredOption('--password <password>', 'at least 8 characters')
    .requiredOption('--org <name>', 'name of the organization')
    .option('--json', 'print one JSON object')
    .action(async ({ json, ...body }: { json?: true; email: string; password: string; org: string }) => {
      print(await (await operator()).call('POST', '/operator/v1/bootstrap', body), json === true)
    })

  program
    .command('import-manifest <file>')
    .description(
      'make devices and edge appliances claimable: a CSV with mac, serial, model, claim_code, and type if wanted',
    )
    .option('--json', 'print one JSON object')
    .action(async (file: string, { json }: { json?: true }) => {
      const answer = await (await operator()).upload('/operator/v1/manifest', await readBytes(file), 'text/csv')
      print(answer, json === true)
    })

  program
    .command('unclaimed [mac]')
    .description('list devices that no organization has claimed, with their claim codes; with a MAC show only that one')
    .option('--mxedges', 'edge appliances instead')
    .action(async (mac: string | undefined, { mxedges }: { mxedges?: true }) => {
      const path = mxedges === true ? '/operator/v1/unclaimed-mxedges' : '/operator/v1/unclaimed'
      const client = await operator()
      if (mac === undefined) print(await listAll(client, path), true)
      else print(await client.call('GET', `${path}/${encodeURIComponent(mac)}`), true)
    })

  program
    .command('storage')
    .description('show the disk space that firmware images, pictures and support files use, and their limits')
    .option('--json', 'print one JSON object')
    .action(async ({ json }: { json?: true }) => {
      print(await (await operator()).call('GET', '/operator/v1/storage'), json === true)
    })

  program
    .command('set-aside-events')
    .description('list events that could not be routed to webhooks, with the reason')
    .option('--retry', 'route them again instead')
    .action(async ({ retry }: { retry?: true }) => {
      const path = '/operator/v1/set-aside-events'
      const client = await operator()
      print(retry === true ? await client.call('POST', `${path}/retry`) : await client.call('GET', path), true)
    })

  program
    .command('device-certificate <mac>')
    .description('issue a client certificate for a device, signed by the built-in CA')
    .requiredOption('--out <dir>', 'folder for its files, named as access points and switches look for them')
    .action(async (mac: string, { out }: { out: string }) => {
      await writeCertificate(out, await (await operator()).call('POST', '/operator/v1/device-certificates', { mac }))
    })

  program
    .command('revoke-device-certificate <mac>')
    .description('revoke the certificates of a device and disconnect it')
    .option('--serial <hex>', 'serial number of one certificate; without it, all that were issued by now')
    .action(async (mac: string, { serial }: { serial?: string }) => {
      const body = { mac, ...(serial !== undefined && { serial }) }
      print(await (await operator()).call('POST', '/operator/v1/device-certificates/revoke', body), true)
    })

  program
    .command('revoked-device-certificates')
    .description('list the revoked certificates of devices')
    .action(async () => print(await (await operator()).call('GET', '/operator/v1/revoked-certificates'), true))

  addFirmwareCommands(program, operator)

  const interrupted = new AbortController()
  const webhooks = program.command('webhooks').description('test receivers of webhooks')
  addListenCommand(webhooks, () => {
    for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, () => interrupted.abort())
    return {
      interrupted: interrupted.signal,
      onListening: (url) => write(JSON.stringify({ listening: url })),
      onMessage: (message) => write(JSON.stringify(message)),
    }
  })

  await program.parseAsync(args, { from: 'user' })
}

async function operatorClient(options: { readonly url?: string; readonly dataDir?: string }): Promise<Client> {
  const dataDir = resolve(options.dataDir ?? 'data')
  const key = await readText(join(dataDir, 'operator.key')).catch(() => {
    throw new AppError('unavailable', `no Signalbox has run with the data folder ${dataDir}; npm start makes it`)
  })
  const url = options.url ?? (await readServerFile(dataDir))
  if (url === null) throw new AppError('unavailable', `no Signalbox runs with the data folder ${dataDir}; npm start`)
  return createClient({ url: url.replace(/\/+$/, ''), authorization: `Operator ${key.trim()}`, dataDir })
}

async function readText(path: string): Promise<string> {
  return (await readBytes(path)).toString('utf8')
}

async function readBytes(path: string): Promise<Buffer> {
  return readFile(path).catch((error: unknown) => {
    throw new AppError('invalid', `${path} can't be read: ${messageOf(error)}`)
  })
}

const Certificate = Type.Object({ certificate: Type.String(), key: Type.String(), ca: Type.String() })

/**
 * Current access point firmware looks for `operational.pem` and `operational.ca`; switches and older firmware look for
 * `cert.pem` and `cas.pem`, which current firmware requires as well.
 */
async function writeCertificate(dir: string, answer: unknown): Promise<void> {
  const { certificate, key, ca } = Value.Parse(Certificate, answer)
  await mkdir(dir, { recursive: true })
  for (const name of ['operational.pem', 'cert.pem']) await writeFile(join(dir, name), certificate)
  for (const name of ['operational.ca', 'cas.pem']) await writeFile(join(dir, name), ca)
  await writeFile(join(dir, 'key.pem'), key, { mode: 0o600 })
}

/** Reads all pages of a list. */
async function listAll(client: Client, path: string): Promise<unknown[]> {
  const rows: unknown[] = []
  for (let page = 1; ; page += 1) {
    const found = await client.call('GET', `${path}?limit=${PAGE_ROWS}&page=${page}`)
    if (!Array.isArray(found)) throw new Error(`GET ${path} did not answer with a list`)
    rows.push(...(found as unknown[]))
    if (found.length < PAGE_ROWS) return rows
  }
}

function print(answer: unknown, json: boolean): void {
  if (json || typeof answer !== 'object' || answer === null) return write(JSON.stringify(answer))
  for (const [name, value] of Object.entries(answer))
    write(`${name}: ${typeof value === 'string' ? value : JSON.stringify(value)}`)
}

function write(line: string): void {
  process.stdout.write(`${line}\n`)
}
