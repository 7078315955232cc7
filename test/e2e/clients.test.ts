import { type ChildProcessWithoutNullStreams, execFile, spawn, spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { copyFile, mkdir, readFile, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { beforeAll, expect, it, onTestFinished } from 'vitest'
import { afterFile } from '../support/after-file.ts'
import { createClient } from '../../src/cli/client.ts'
import { startConnectProxy } from '../support/peers/connect-proxy.ts'
import { startServerProcess } from '../support/servers/server-process.ts'
import { temporaryDir } from '../support/temporary-dir.ts'

const run = promisify(execFile)
/** A host that the clients with a list of hosts accept. */
const host = 'api.mist.com'
/** The host on which they expect the live stream. */
const streamHost = 'api-ws.mist.com'

const python = process.env['SIGNALBOX_TEST_PYTHON'] ?? 'python3'
/** Only modules that have been downloaded before. */
const goEnv = { ...process.env, GOPROXY: 'off', GOSUMDB: 'off', GOFLAGS: '-mod=mod' }
const goSdk = 'github.com/tmunzer/mistapi-go'
/** The folder of the Terraform provider's program. */
const provider = process.env['SIGNALBOX_TEST_TERRAFORM_PROVIDER'] ?? ''

const hasPython = spawnSync(python, ['-c', 'import mistapi']).status === 0
const hasGo = spawnSync('go', ['list', '-m', `${goSdk}@v0.4.105`], { cwd: tmpdir(), env: goEnv }).status === 0
const hasTerraform =
  existsSync(join(provider, 'terraform-provider-mist')) && spawnSync('terraform', ['-version']).status === 0

const options = { timeout: 240_000 }

interface World {
  readonly folder: string
  readonly url: string
  readonly orgId: string
  readonly dataDir: string
  /** The environment that the documentation recommends. */
  readonly env: NodeJS.ProcessEnv
}

/**
 * The demo with a certificate for the clients' host, and a proxy instead of a line in the hosts file. The examples share
 * it, because its start takes more time than most of them.
 */
let world: World
beforeAll(async () => {
  world = await startWorld()
}, options.timeout)

async function startWorld(): Promise<World> {
  const folder = await temporaryDir(afterFile)
  const dataDir = join(folder, 'data')
  const tls = { SIGNALBOX_TLS: 'self-signed', SIGNALBOX_TLS_NAMES: `${host},${streamHost}` }
  const { url, demo } = await startServerProcess({ dataDir, demo: true, env: tls }, afterFile)
  if (demo === null) throw new Error('unreachable: the demo was started')
  const ca = join(folder, 'ca.pem')
  await copyFile(join(dataDir, 'device-ca', 'ca.pem'), ca)
  const { api_token: token, org_id: orgId } = demo
  const env = {
    PATH: process.env['PATH'],
    HOME: process.env['HOME'],
    HTTPS_PROXY: await startConnectProxy({ hosts: [host, streamHost], url }, afterFile),
    NO_PROXY: '127.0.0.1',
    API_TOKEN: token,
    MIST_API_TOKEN: token,
    ORG_ID: orgId,
    BASE_URL: url,
    REQUESTS_CA_BUNDLE: ca,
    SSL_CERT_FILE: ca,
  }
  return { folder, url, orgId, dataDir, env }
}

/** @param index The position among the examples in that language. */
async function exampleIn(language: string, index = 0): Promise<string> {
  const text = await readFile(new URL('../../docs/clients.md', import.meta.url), 'utf8')
  const found = [...text.matchAll(new RegExp(`<!-- tested -->\n\`\`\`${language}\n(.*?)\`\`\``, 'gs'))]
  const [, example] = found[index] ?? []
  if (example === undefined) throw new Error(`the page has no tested example in ${language}`)
  return example
}

/** @throws Error with the program's complaints if it ends before it has printed the text. */
function untilPrinted(child: ChildProcessWithoutNullStreams, text: string): Promise<void> {
  let [printed, complaints] = ['', '']
  child.stderr.on('data', (part: Buffer) => (complaints += part.toString()))
  return new Promise((resolve, reject) => {
    child.stdout.on('data', (part: Buffer) => {
      printed += part.toString()
      if (printed.includes(text)) resolve()
    })
    child.once('error', reject)
    child.once('close', (code) => reject(new Error(`ended with ${code}: ${printed}${complaints}`)))
  })
}

it('every example of the page is one that a test runs', async () => {
  const text = await readFile(new URL('../../docs/clients.md', import.meta.url), 'utf8')
  const examples = [...text.matchAll(/^(?:<!-- (tested) -->\n)?```(\w+)$/gm)].map(([, tested, language]) => [
    tested,
    language,
  ])
  expect(examples).toEqual(['sh', 'python', 'python', 'go', 'hcl'].map((language) => ['tested', language]))
})

it('runs the commands with curl', options, async () => {
  const { folder, env } = world
  const commands = (await exampleIn('sh')).replaceAll(/^curl(?:[^\n'\\]|'[^']*'|\\\n)*$/gm, '$&; echo')
  const { stdout } = await run('sh', ['-e', '-c', commands], { cwd: folder, env })
  const [sites, changed, ...rest] = stdout
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as unknown)
  expect(rest).toEqual([])
  expect(sites).toMatchObject([{ name: 'Berlin' }, { name: 'New York' }])
  expect(changed).toMatchObject({ name: 'Berlin', notes: 'second floor' })
})

it.skipIf(!hasPython)('runs the example of the Python SDK', options, async () => {
  const { folder, env } = world
  const { stdout } = await run(python, ['-c', await exampleIn('python')], { cwd: folder, env })
  for (const line of ['Berlin Europe/Berlin', 'Tokyo Asia/Tokyo', '39 access points']) expect(stdout).toContain(line)
})

it.skipIf(!hasPython)('runs the example of the websocket classes of the Python SDK', options, async () => {
  const { folder, env } = world
  const child = spawn(python, ['-u', '-c', await exampleIn('python', 1)], { cwd: folder, env })
  onTestFinished(() => void child.kill('SIGKILL'))
  // The SDK sees the end of its connection only 45 s after the last message, so nothing waits for the end of the example.
  await untilPrinted(child, 'PING 192.0.2.1')
})

it.skipIf(!hasGo)('runs the example of the Go SDK', options, async () => {
  const { folder, env } = world
  await writeFile(join(folder, 'main.go'), await exampleIn('go'))
  await writeFile(join(folder, 'go.mod'), `module example\ngo 1.25.0\nrequire ${goSdk} v0.4.105\n`)
  const program = join(folder, 'example')
  await run('go', ['build', '-o', program, '.'], { cwd: folder, env: goEnv })
  const { stdout } = await run(program, [], { cwd: folder, env })
  expect(stdout.trim().split('\n')).toEqual(['Berlin Europe/Berlin', 'New York America/New_York', 'Tokyo Asia/Tokyo'])
})

it.skipIf(!hasTerraform)(
  'applies the configuration of Terraform, plans nothing more, and destroys it',
  options,
  async () => {
    const { folder, url, orgId, dataDir, env } = world
    const operatorKey = (await readFile(join(dataDir, 'operator.key'), 'utf8')).trim()
    const operator = createClient({ url, authorization: `Operator ${operatorKey}`, dataDir })
    const device = { mac: '02aa00000001', serial: 'LAB1', model: 'EAP102', claim_code: 'LABAP0000000001', type: 'ap' }
    await operator.call('POST', '/operator/v1/manifest', { devices: [device] })
    const place = join(folder, 'configuration')
    await mkdir(place)
    await writeFile(join(place, 'main.tf'), await exampleIn('hcl'))
    const settings = join(folder, 'terraform.rc')
    await writeFile(
      settings,
      `provider_installation {\n dev_overrides { "juniper/mist" = "${provider}" }\n direct {}\n}\n`,
    )
    const variables = { TF_VAR_org_id: orgId, TF_VAR_claim_code: device.claim_code }
    const terraform = async (...args: string[]): Promise<string> => {
      const own = { TF_CLI_CONFIG_FILE: settings, CHECKPOINT_DISABLE: '1', ...variables }
      return (await run('terraform', [...args, '-no-color'], { cwd: place, env: { ...env, ...own } })).stdout
    }
    expect(await terraform('apply', '-auto-approve')).toContain('Resources: 4 added, 0 changed, 0 destroyed')
    expect(await terraform('plan', '-detailed-exitcode')).toContain('No changes')
    expect(await terraform('destroy', '-auto-approve')).toContain('Resources: 4 destroyed')
  },
)
