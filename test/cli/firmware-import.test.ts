import { execFile } from 'node:child_process'
import { createHash, generateKeyPairSync, sign } from 'node:crypto'
import { once } from 'node:events'
import { chmod, mkdir, readFile, rm, symlink, truncate, writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, beforeEach, expect, onTestFinished, test } from 'vitest'
import { type Client, createClient } from '../../src/cli/client.ts'
import { operatorImporter } from '../../src/cli/firmware.ts'
import { type ImportResult, importFirmware } from '../../src/client/import-firmware.ts'
import { sweepFirmwareFiles } from '../../src/firmware/storage/storage.ts'
import { AppError } from '../../src/platform/errors.ts'
import { systemClock } from '../../src/platform/time/clock.ts'
import { mayRunAsOther, otherUser } from '../support/other-user.ts'
import { type TestOrg, type TestServer, startTestServer } from '../support/servers/server.ts'
import { temporaryDir } from '../support/temporary-dir.ts'
import { messageOf } from '../../src/platform/message-of.ts'

const KIB = 1024
const [trusted, unknown] = [generateKeyPairSync('ed25519'), generateKeyPairSync('ed25519')]

let server: TestServer
let client: Client
let org: TestOrg
let folder: string

beforeAll(async () => {
  const roomy = { orgMaxBytes: 100 * KIB, totalMaxBytes: 1000 * KIB }
  const firmwareTrust = { keys: [trusted.publicKey], isRequired: false }
  server = await startTestServer(systemClock, {}, null, { firmware: roomy, firmwareTrust, firmwareMaxBytes: 60 * KIB })
  await sweepFirmwareFiles(server.ctx, { dir: join(server.dataDir, 'firmware') })
  client = createClient({ url: server.url, authorization: 'Operator operator-key', dataDir: server.dataDir })
})
afterAll(() => server.close())
beforeEach(async () => {
  org = await server.addOrg('Air-gapped')
  folder = await temporaryDir()
})

const hashOf = (content: string) => createHash('sha256').update(content).digest()

/** Writes a file, and returns its entry for a manifest. */
async function file(name: string, content: string, more: object): Promise<object> {
  await mkdir(dirname(join(folder, name)), { recursive: true })
  await writeFile(join(folder, name), content)
  return { file: name, sha256: hashOf(content).toString('hex'), ...more }
}

async function run(
  images: readonly object[],
  options: { dryRun?: boolean; via?: Client } = {},
): Promise<ImportResult[]> {
  await writeFile(join(folder, 'firmware.json'), JSON.stringify({ images }))
  const results: ImportResult[] = []
  const { dryRun = false, via = client } = options
  try {
    await importFirmware(operatorImporter(via, org.orgId), {
      folder,
      dryRun,
      onResult: (result) => results.push(result),
    })
  } catch (error) {
    results.push({ file: 'error', status: 'refused', problem: messageOf(error) })
  }
  return results
}

const statuses = (results: readonly ImportResult[]) => results.map(({ status }) => status)
const catalog = async () => (await server.call('GET', `/orgs/${org.orgId}/firmware`, { as: org })).body

test('a folder is imported with all that its manifest says, a second time without effect, and what it changes is updated', async () => {
  const signature = sign(null, hashOf('image'), trusted.privateKey).toString('base64')
  const traits = { tag: 'suggested', channel: 'stable', reported: ['OpenWrt 21 / v3', 'v3-stock'], min_version: '2.0' }
  const image = await file('ap/one.bin', 'image', { models: ['AP45', 'AP34'], version: '3.0', signature, ...traits })
  const service = { package: 'tunterm', version: '1.0', distro: 'bookworm', default: true }
  const tunterm = await file('tunterm.deb', 'package', service)
  expect(statuses(await run([image, tunterm], { dryRun: true }))).toEqual(['new', 'new'])
  expect(await catalog()).toEqual([])
  expect(statuses(await run([image, tunterm]))).toEqual(['imported', 'imported'])
  const { tag, channel, reported, min_version } = traits
  const known = { version: '3.0', tag, channel, reported, min_version }
  const first = await catalog()
  expect(first).toMatchObject([
    {
      signature,
      versions: [
        { model: 'AP34', ...known },
        { model: 'AP45', ...known },
      ],
      packages: [],
    },
    { versions: [], packages: [service] },
  ])
  expect(statuses(await run([image, tunterm]))).toEqual(['present', 'present'])
  expect(await catalog()).toEqual(first)
  expect(statuses(await run([{ ...image, tag: 'latest' }, tunterm]))).toEqual(['updated', 'present'])
  expect((await catalog())[0].versions[0].tag).toBe('latest')
  const logs = await server.call('GET', `/orgs/${org.orgId}/logs`, { as: org })
  const uploads = logs.body.results.filter(({ message }: { message: string }) => message.startsWith('Upload'))
  expect(uploads.map(({ admin_name: name }: { admin_name: string }) => name)).toEqual(Array(3).fill('operator'))
})

test('everything is checked before anything changes, and each file has its result', async () => {
  const good = await file('good.bin', 'good', { models: ['AP45'], version: '1' })
  expect(statuses(await run([good]))).toEqual(['imported'])
  const before = await catalog()
  await writeFile(join(folder, 'secret'), 'secret')
  await mkdir(join(folder, 'inner'))
  const outer = folder
  folder = join(folder, 'inner')
  await symlink(join(outer, 'secret'), join(folder, 'link'))
  const signature = sign(null, hashOf('signed'), unknown.privateKey).toString('base64')
  const results = await run([
    await file('new.bin', 'new', { models: ['AP45'], version: '2' }),
    { file: 'missing.bin', sha256: '0'.repeat(64), models: ['AP45'], version: '3' },
    { ...(await file('changed.bin', 'changed', { models: ['AP45'], version: '4' })), sha256: '0'.repeat(64) },
    { file: 'link', sha256: hashOf('secret').toString('hex'), models: ['AP45'], version: '5' },
    { file: '../secret', sha256: hashOf('secret').toString('hex'), models: ['AP45'], version: '6' },
    await file('other.bin', 'other', { models: ['AP45'], version: '1' }),
    await file('twice.bin', 'twice', { models: ['AP45'], version: '2' }),
    await file('signed.bin', 'signed', { models: ['AP45'], version: '7', signature }),
    await file('odd.bin', 'odd', { models: ['AP45'], version: '8', tag: 'golden' }),
    await file('reported.bin', 'reported', { models: ['AP45'], version: '9', reported: ['1'] }),
    await file('large.bin', 'x'.repeat(61 * KIB), { models: ['AP45'], version: '10' }),
  ])
  expect(results.map(({ file: name, problem }) => [name, problem])).toEqual([
    ['new.bin', undefined],
    ['missing.bin', 'The file is missing'],
    ['changed.bin', expect.stringContaining('The SHA-256 of the file is ')],
    ['link', 'The file is outside the folder of the manifest'],
    ['../secret', 'The file is outside the folder of the manifest'],
    ['other.bin', 'AP45 has version 1 from another image: delete that first'],
    ['twice.bin', 'AP45 has version 2 from another image: delete that first'],
    ['signed.bin', expect.stringContaining('Invalid field signature: is by none of the keys that this server trusts')],
    ['odd.bin', expect.stringContaining('Invalid field tag: ')],
    ['reported.bin', '1 is what devices of the model AP45 report for version 1'],
    ['large.bin', expect.stringContaining('at most 61440 bytes')],
    ['error', "10 of the 11 files in firmware.json can't be imported; nothing was changed"],
  ])
  expect(await catalog()).toEqual(before)
})

test('the room for all files together is checked before the first one', async () => {
  const large = (name: string) => file(name, name.repeat(20 * KIB), { models: ['AP45'], version: name })
  const [result] = await run([await large('a1'), await large('b2'), await large('c3')])
  expect(result?.problem).toContain('of firmware images that the organization may store')
  expect(await catalog()).toEqual([])
})

test('an interrupted import is continued by repeating it', async () => {
  const images = await Promise.all(
    ['1', '2', '3'].map((version) => file(version, version, { models: ['AP45'], version })),
  )
  let uploads = 0
  const broken: Client = {
    ...client,
    uploadFile: async (path, one) => {
      uploads += 1
      if (uploads === 2) throw new Error('the cable was pulled')
      return client.uploadFile(path, one)
    },
  }
  expect((await run(images, { via: broken })).map(({ status, problem }) => problem ?? status)).toEqual([
    'imported',
    'the cable was pulled',
  ])
  expect(statuses(await run(images))).toEqual(['present', 'imported', 'imported'])
})

test.each<[string, (path: string) => Promise<unknown>, RegExp]>([
  ['has become shorter', (path) => truncate(path, 1), / no longer has 5 bytes: it has been changed; repeat/],
  ['is gone', (path) => rm(path), / can't be read: ENOENT.*; repeat/],
  ['has other content', (path) => writeFile(path, 'other'), /Invalid field sha256: the image's SHA-256 is .*; repeat/],
])('a file that %s since it was checked is named', async (_, change, problem) => {
  const image = await file('one.bin', 'image', { models: ['AP45'], version: '1' })
  const changing: Client = {
    ...client,
    uploadFile: async (path, one) => {
      await change(one.path)
      return client.uploadFile(path, one)
    },
  }
  expect(await run([image], { via: changing })).toMatchObject([{ problem: expect.stringMatching(problem) }])
  expect(await catalog()).toEqual([])
})

test('the reason of a refusal is named although the connection broke before it arrived', async () => {
  const image = await file('one.bin', 'x'.repeat(50 * KIB), { models: ['AP45'], version: '1' })
  const refused: Client = {
    ...client,
    uploadFile: async () => {
      const headers = { 'content-type': 'application/octet-stream' }
      const path = `/orgs/${org.orgId}/firmware?version=2&models=AP45`
      await server.call('POST', path, { as: org, headers, body: Buffer.alloc(60 * KIB) })
      throw new AppError('unavailable', 'write EPIPE')
    },
  }
  await writeFile(join(folder, 'firmware.json'), JSON.stringify({ images: [image] }))
  const options = { folder, dryRun: false, onResult: () => undefined }
  await expect(importFirmware(operatorImporter(refused, org.orgId), options)).rejects.toMatchObject({
    outcome: 'refused',
    message: expect.stringMatching(/^one\.bin: .* of firmware images that the organization may store.*; repeat/),
  })
})

test('a connection that breaks for no reason of the server is reported as such', async () => {
  const image = await file('one.bin', 'image', { models: ['AP45'], version: '1' })
  const broken: Client = {
    ...client,
    uploadFile: () => Promise.reject(new AppError('unavailable', 'write EPIPE')),
  }
  expect(await run([image], { via: broken })).toMatchObject([
    { problem: 'one.bin: write EPIPE; repeat the import to continue with this file' },
  ])
})

test.skipIf(!mayRunAsOther)('a file that the person may not read is named', async () => {
  const image = await file('one.bin', 'image', { models: ['AP45'], version: '1' })
  await writeFile(join(folder, 'firmware.json'), JSON.stringify({ images: [image] }))
  await chmod(folder, 0o755)
  await chmod(join(folder, 'one.bin'), 0o000)
  const source = new URL('../../src/client/firmware-manifest.ts', import.meta.url).href
  const script = `const { readManifest } = await import(process.argv[1])
    for (const { problem } of await readManifest(process.argv[2])) console.log(problem)`
  const args = ['--input-type=module', '--eval', script, source, folder]
  const { stdout } = await promisify(execFile)(process.execPath, args, otherUser)
  expect(stdout).toMatch(/one\.bin can't be read: EACCES/)
})

test.each([200, 502])('a server that answers with a page and the status %i is no Signalbox', async (status) => {
  const other = createServer((_request, response) => response.writeHead(status).end('<html>Welcome</html>'))
  other.listen(0, '127.0.0.1')
  onTestFinished(() => void other.close())
  await once(other, 'listening')
  const url = `http://127.0.0.1:${(other.address() as AddressInfo).port}`
  const elsewhere = createClient({ url, authorization: 'Operator operator-key', dataDir: server.dataDir })
  const image = await file('one.bin', 'image', { models: ['AP45'], version: '1' })
  const problem = expect.stringContaining('The answer is a page, as of a proxy or of another server')
  expect(await run([image], { via: elsewhere })).toMatchObject([{ problem }])
})

test.each([
  ['{', /firmware\.json is not valid JSON:/],
  ['{"images": []}', /firmware\.json: images /],
  ['{"images": [{"file": "a", "version": "1", "models": ["A"]}]}', /images\.0 .*sha256/],
  [
    `{"images": [{"file": "a", "version": "1", "sha256": "${'0'.repeat(64)}", "model": "A"}]}`,
    /images\.0\.model is not a field of the manifest/,
  ],
])('a manifest that is %s is refused', async (json, reason) => {
  await writeFile(join(folder, 'firmware.json'), json)
  const importing = importFirmware(operatorImporter(client, org.orgId), {
    folder,
    dryRun: false,
    onResult: () => undefined,
  })
  await expect(importing).rejects.toThrow(reason)
})

test.each(['01a21e75-0000-7000-8000-000000000000', 'My network'])('organization %s is unknown', async (orgId) => {
  const image = await file('one.bin', 'image', { models: ['AP45'], version: '3.0' })
  await writeFile(join(folder, 'firmware.json'), JSON.stringify({ images: [image] }))
  const options = { folder, dryRun: false, onResult: () => undefined }
  await expect(importFirmware(operatorImporter(client, orgId), options)).rejects.toThrow(
    `The server has no organization ${orgId}; --org is its id`,
  )
})

test('the example of the documentation is imported', async () => {
  const docs = await readFile(new URL('../../docs/firmware.md', import.meta.url), 'utf8')
  const [, example = ''] = /```json\n(\{\n {2}"images"[\s\S]*?)\n```/.exec(docs) ?? []
  const { images } = JSON.parse(example) as { images: { file: string; signature?: string }[] }
  const real = await Promise.all(
    images.map(async (image) => ({ ...image, ...(await file(image.file, image.file, {})) })),
  )
  expect(images.length).toBeGreaterThan(1)
  expect(statuses(await run(real))).toEqual(images.map(() => 'imported'))
})
