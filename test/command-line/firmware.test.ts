import { createHash, randomBytes } from 'node:crypto'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { afterFile } from '../support/after-file.ts'
import { sweepFirmwareFiles } from '../../src/firmware/storage/storage.ts'
import { addPerson } from '../support/people.ts'
import { type TestServer, startTestServer } from '../support/servers/server.ts'
import { temporaryDir } from '../support/temporary-dir.ts'
import { type Person, runSignalbox } from './run-signalbox.ts'

const hashOf = (bytes: Buffer): string => createHash('sha256').update(bytes).digest('hex')

let server: TestServer
let folder: string
beforeAll(async () => {
  server = await startTestServer()
  await sweepFirmwareFiles(server.ctx, { dir: join(server.dataDir, 'firmware') })
  folder = await temporaryDir(afterFile)
})
afterAll(() => server.close())

const person = (): Person => ({ url: server.url, token: server.org.token })
const catalog = async () => (await server.call('GET', `/orgs/${server.org.orgId}/firmware`)).body

it('uploads an image with its metadata, and shows the progress', async () => {
  const bytes = randomBytes(1_200_000)
  const file = join(folder, 'ap45.bin')
  await writeFile(file, bytes)
  const said = ['--model', 'AP45', '--model', 'AP34', '--tag', 'suggested', '--min-version', '1.0', '--reported', 'v3']
  const { code, out, err } = await runSignalbox(person(), ['firmware', 'upload', file, '3.0.0', ...said])
  expect({ code, out }).toEqual({ code: 0, out: expect.stringContaining(hashOf(bytes)) })
  const lines = err.trim().split('\n')
  expect(lines.length).toBeLessThanOrEqual(11)
  expect(lines.at(-1)).toBe(`${'█'.repeat(30)} 100 %  of 1.2 MB  ${file}`)
  expect(await catalog()).toMatchObject([
    {
      sha256: hashOf(bytes),
      versions: ['AP34', 'AP45'].map((model) => ({
        model,
        version: '3.0.0',
        tag: 'suggested',
        min_version: '1.0',
        reported: ['v3'],
      })),
    },
  ])
  const again = await runSignalbox(person(), ['firmware', 'upload', file, '3.0.0', ...said])
  expect(again).toEqual({ code: 0, out, err: 'the catalog already has this image with these values\n' })
  const listed = await runSignalbox(person(), ['firmware', 'list'])
  expect(listed.out).toMatch(/^MODEL +VERSION +TAG .*\nAP34 +3\.0\.0 +suggested +1\.2 /)
})

it('reports by its exit code why nothing was uploaded', async () => {
  const file = join(folder, 'ap45.bin')
  const upload = (...args: string[]) => runSignalbox(person(), ['firmware', 'upload', ...args])
  expect(await upload(join(folder, 'missing.bin'), '1.0.0', '--model', 'AP45')).toMatchObject({ code: 2 })
  expect(await upload(folder, '1.0.0', '--model', 'AP45')).toMatchObject({ code: 2 })
  const absent = join(folder, 'absent')
  expect(await runSignalbox(person(), ['firmware', 'import', absent])).toMatchObject({
    code: 2,
    err: `signalbox: There is no ${absent}/firmware.json: name the folder that contains the manifest\n`,
  })
  expect(await upload(file, '1.0.0')).toMatchObject({
    code: 4,
    err: expect.stringMatching(/^signalbox: Invalid field models/),
  })
  const reader = await addPerson(server, [{ scope: 'org', role: 'read' }])
  const refused = await runSignalbox({ url: server.url, token: reader.token }, [
    'firmware',
    'upload',
    file,
    '1.0.0',
    '--model',
    'AP45',
  ])
  expect(refused).toMatchObject({ code: 4 })
})

it('imports a folder, changes nothing the second time, and imports nothing if a file is refused', async () => {
  const images = await Promise.all(
    ['one', 'two'].map(async (name, index) => {
      const bytes = Buffer.from(`image ${name}`)
      await writeFile(join(folder, name), bytes)
      return { file: name, sha256: hashOf(bytes), version: `4.${index}`, models: ['AP45'] }
    }),
  )
  const manifest = (all: object[]) => writeFile(join(folder, 'firmware.json'), JSON.stringify({ images: all }))
  const importFolder = async (...args: string[]) => {
    const { code, out, err } = await runSignalbox(person(), ['firmware', 'import', folder, '--json', ...args])
    const results = out
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line))
    return { code, err, statuses: results.map(({ status }) => status), results }
  }
  const before = await catalog()
  await manifest([...images, { ...images[0], version: '4.9', tag: 'golden' }])
  expect(await importFolder()).toMatchObject({
    code: 4,
    err: expect.stringContaining('nothing was changed'),
    statuses: ['new', 'new', 'refused'],
  })
  expect(await catalog()).toEqual(before)
  await manifest(images)
  expect(await importFolder('--dry-run')).toMatchObject({ code: 0, statuses: ['new', 'new'] })
  expect(await catalog()).toEqual(before)
  expect(await importFolder()).toMatchObject({ code: 0, statuses: ['imported', 'imported'] })
  expect(await importFolder()).toMatchObject({ code: 0, statuses: ['present', 'present'] })
  await manifest([{ ...images[0], tag: 'latest' }])
  expect(await importFolder()).toMatchObject({ code: 0, statuses: ['updated'] })
  const versions = (await catalog()).flatMap(({ versions: all }: { versions: object[] }) => all)
  expect(versions).toContainEqual(expect.objectContaining({ version: '4.0', tag: 'latest' }))
  const { body } = await server.call('GET', `/orgs/${server.org.orgId}/logs`)
  const upload = body.results.find(({ message }: { message: string }) => message.startsWith('Upload'))
  expect(upload.admin_name).toContain(server.org.email)
})
