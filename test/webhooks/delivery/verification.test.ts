import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { readFile, readdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { topicsFor } from '../../../src/events/topics.ts'
import { hmacKeysOf, signatureHeaders } from '../../../src/webhooks/signing/sign.ts'
import {
  planSigningKeys,
  publicKeyOf,
  replaceSigningKey,
  signersOf,
} from '../../../src/webhooks/signing/signing-keys.ts'
import { temporaryDir } from '../../support/temporary-dir.ts'

const page = await readFile(new URL('../../../docs/webhooks.md', import.meta.url), 'utf8')

interface Language {
  readonly name: string
  /** The name of its code block in the page, if it differs. */
  readonly block?: string
  readonly file: string
  /** Makes a program of the file, where one is needed before it runs. */
  readonly build?: readonly string[]
  readonly run: readonly string[]
  /** A command that works where the language is installed. */
  readonly has: readonly string[]
  /** A command that works where the language also has Ed25519; null if it always has. */
  readonly hasKeys?: readonly string[]
}

const languages: readonly Language[] = [
  { name: 'sh', file: 'verify.sh', run: ['sh', 'verify.sh'], has: ['openssl', 'version'] },
  // It is the `sh` of many systems.
  { name: 'bash', block: 'sh', file: 'verify.sh', run: ['bash', 'verify.sh'], has: ['bash', '-c', 'openssl version'] },
  { name: 'js', file: 'verify.cjs', run: [process.execPath, 'verify.cjs'], has: [process.execPath, '--version'] },
  {
    name: 'python',
    file: 'verify.py',
    run: ['python3', 'verify.py'],
    has: ['python3', '--version'],
    hasKeys: ['python3', '-c', 'import cryptography'],
  },
  {
    name: 'go',
    file: 'verify.go',
    build: ['go', 'build', '-o', 'verify', 'verify.go'],
    run: ['./verify'],
    has: ['go', 'version'],
  },
  {
    name: 'java',
    file: 'Verify.java',
    // The second compiler of the virtual machine takes more time than it saves.
    build: ['javac', '-J-XX:TieredStopAtLevel=1', '-J-XX:+UseSerialGC', 'Verify.java'],
    run: ['java', '-XX:TieredStopAtLevel=1', '-cp', '.', 'Verify'],
    has: ['javac', '-version'],
  },
]

interface Message {
  readonly secret: string
  /** Empty if the secret is the key. */
  readonly publicKey: string
  readonly id: string
  readonly timestamp: string
  readonly signature: string
  readonly body: Buffer
}

const doc = { ed25519_signatures: true }
const keys = replaceSigningKey(planSigningKeys(doc, [], new Date()), new Date(), 3600e3)
const signers = signersOf(doc, keys, new Date())
const publicKeys = keys.map((key) => publicKeyOf(key).public_key)

function messageOf(secrets: readonly string[], body: Buffer, at = new Date()): Message {
  const headers = signatureHeaders(secrets.map(hmacKeysOf), { messageId: 'msg_1', at, body }, signers)
  return {
    secret: secrets.at(-1) ?? '',
    publicKey: '',
    id: headers['webhook-id'] ?? '',
    timestamp: headers['webhook-timestamp'] ?? '',
    signature: headers['webhook-signature'] ?? '',
    body,
  }
}

const body = Buffer.from('{"topic":"audits","events":[{"admin_name":"Zoë"}]}\n')
const plain = messageOf(['a long random text'], body)
const encoded = messageOf([`whsec_${Buffer.from('\0\x01binary key').toString('base64')}`], body)
const valid = [plain, encoded, messageOf(['the new one', 'the former one'], body)]
const invalid = [
  { ...plain, body: Buffer.concat([body, Buffer.from(' ')]) },
  { ...plain, id: 'msg_2' },
  { ...plain, secret: 'another' },
  { ...plain, signature: 'v1,' },
  messageOf(['a long random text'], body, new Date(Date.now() - 600_000)),
  messageOf(['a long random text'], body, new Date(Date.now() + 600_000)),
]
/** The headers of a sender that is not the service may have any text. A program that fails on one would answer with an error. */
const malformed = [
  { ...plain, timestamp: '' },
  { ...plain, timestamp: 'soon' },
  { ...plain, timestamp: 'id[$(touch executed)]' },
  { ...plain, timestamp: '0999999999' },
  { ...plain, timestamp: '9'.repeat(5000) },
  { ...plain, signature: '' },
  { ...plain, signature: 'v1,ü' },
  { ...plain, signature: '*' },
]
const [present = '', former = ''] = publicKeys
const asymmetric = messageOf(['a long random text'], body)
const validByKey = [
  { ...asymmetric, publicKey: present },
  { ...messageOf([], body), publicKey: former },
]
const [stranger = ''] = planSigningKeys(doc, [], new Date()).map((key) => publicKeyOf(key).public_key)
const invalidByKey = [
  { ...asymmetric, publicKey: stranger },
  { ...asymmetric, publicKey: present, id: 'msg_2' },
  { ...asymmetric, publicKey: present, signature: 'v1a,AAAA' },
]

const byKey = (message: Message, publicKey: string): Message => ({ ...message, publicKey })

async function verify(dir: string, run: readonly string[], message: Message): Promise<string> {
  const [command = '', ...args] = run
  const { id, timestamp, signature, secret, publicKey } = message
  const child = spawn(command, [...args, id, timestamp, signature], {
    cwd: dir,
    env: { ...process.env, WEBHOOK_SECRET: secret, WEBHOOK_PUBLIC_KEY: publicKey },
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  const closed = once(child, 'close')
  // A program that refuses a message by its headers may end without reading it.
  child.stdin.on('error', () => {})
  child.stdin.end(message.body)
  const printed = await text(child.stdout)
  const [code] = await closed
  expect(code).toBe(printed === 'valid\n' ? 0 : 1)
  return printed.trim()
}

const works = ([command = '', ...args]: readonly string[]): boolean => spawnSync(command, args).status === 0

describe.each(languages)('the program in $name', ({ name, block = name, file, build, run, has, hasKeys }) => {
  const isInstalled = works(has)
  const isWithKeys = hasKeys === undefined ? isInstalled : works(hasKeys)
  let dir = ''
  let removeDir = (): Promise<void> => Promise.resolve()
  beforeAll(async () => {
    if (!isInstalled) return
    const [, program = ''] = new RegExp(`<!-- tested.*-->\n\`\`\`${block}\n(.*?)\`\`\``, 's').exec(page) ?? []
    dir = await temporaryDir((end) => (removeDir = end))
    await writeFile(join(dir, file), program)
    if (build !== undefined) expect(spawnSync(build[0] ?? '', build.slice(1), { cwd: dir }).status).toBe(0)
  }, 120_000)
  afterAll(() => removeDir())

  async function expectVerdicts(good: readonly Message[], bad: readonly Message[]): Promise<void> {
    const verdicts = await Promise.all([...good, ...bad].map((message) => verify(dir, run, message)))
    expect(verdicts).toEqual([...good.map(() => 'valid'), ...bad.map(() => expect.not.stringMatching(/^valid$/))])
  }

  it.skipIf(!isInstalled)('refuses headers of any text, and executes none', { timeout: 120_000 }, async () => {
    const keysToo = isWithKeys ? malformed.map((message) => byKey(message, present)) : []
    const messages = [...malformed, ...keysToo]
    const verdicts = await Promise.all(messages.map((message) => verify(dir, run, message)))
    expect(verdicts).toEqual(messages.map(() => 'invalid'))
    expect(await readdir(dir)).not.toContain('executed')
  })

  it.skipIf(!isInstalled)('accepts what the service signs by a secret, and nothing else', { timeout: 120_000 }, () =>
    expectVerdicts(valid, invalid),
  )

  it.skipIf(!isWithKeys)('accepts what the service signs by a key, and nothing else', { timeout: 120_000 }, () =>
    expectVerdicts(validByKey, invalidByKey),
  )
})

it('the page names every topic that is sent', () => {
  const [, subscribing = ''] = /\n## Subscribing\n(.*?)\n## /s.exec(page) ?? []
  const listed = [...subscribing.matchAll(/^\| `([a-z-]+)` \|/gm)].map(([, topic]) => topic)
  expect(listed).toEqual([...topicsFor('org'), ...topicsFor('site'), 'ping'])
})
