import { stat } from 'node:fs/promises'
import type { Command } from 'commander'
import { type Api, type JsonObject, listAll, objectOf, rowsOf } from '../api.ts'
import { CommandError } from '../exit-codes.ts'
import { type ImportResult, type Importer, importFirmware } from '../import-firmware.ts'
import { hashFile } from '../send-file.ts'
import { type Output, bar, details, fields, table, textOf } from '../output.ts'
import type { Session } from '../session.ts'
import { type AddCommands, collect, query } from './command.ts'
import { messageOf } from '../../platform/message-of.ts'

const BYTES_PER_MB = 1_000_000
/** The steps of the progress. Lines that do not replace each other come in fewer steps. */
const SHARES_IN_PLACE = 100
const SHARES_IN_LINES = 10

interface UploadOptions {
  readonly model?: readonly string[]
  readonly tag?: string
  readonly channel?: string
  readonly reported?: readonly string[]
  readonly minVersion?: string
  readonly package?: string
  readonly distro?: string
  readonly default?: true
  readonly signature?: string
}

/** Commands about the firmware images of the organization. */
export const addFirmwareCommands: AddCommands = (program, open) => {
  const firmware = program.command('firmware').description('list, upload and import firmware images')

  firmware
    .command('list')
    .description('list the versions of the organization, with their images')
    .action(async (_options, command) => {
      const { session, api, path } = await enter(open, command)
      const images = await listAll(api, `${path}?limit=1000`)
      session.output.show(images, () =>
        table(fields('model', 'version', 'tag', 'channel', 'MB', 'sha256'), images.flatMap(versionsOf), session.width),
      )
    })

  firmware
    .command('upload <file> <version>')
    .description('upload an image for devices, or a package for edge appliances')
    .option('--model <model>', 'a model that the image is for; repeat it for several', collect)
    .option('--tag <tag>', 'such as suggested')
    .option('--channel <channel>', 'stable, beta or alpha')
    .option('--reported <text>', 'another text by which devices report the version; repeat it for several', collect)
    .option('--min-version <text>', 'the lowest version from which devices can install it')
    .option('--package <name>', 'the file is this package for edge appliances; instead of --model')
    .option('--distro <codename>', 'the distribution that the package is for')
    .option('--default', 'make the package the default of its channel')
    .option('--signature <base64>', 'Ed25519 over the SHA-256 of the file')
    .action(async (file: string, version: string, options: UploadOptions, command) => {
      const { session, api, path } = await enter(open, command)
      const sizeBytes = await sizeOf(file)
      const { model, reported, minVersion, default: isDefault, ...others } = options
      const sha256 = await hashFile(file)
      const parameters = withValues({
        version,
        ...others,
        default: isDefault,
        models: model?.join(','),
        reported: reported?.join(','),
        min_version: minVersion,
        // The server refuses an upload with another hash.
        sha256,
      })
      // If the server refuses an upload before its end, the connection may break before the reason arrives.
      const answer = objectOf(
        await api.post(`${path}/check`, { files: [{ sha256, size: sizeBytes, query: parameters }] }),
      )
      const { status, problem } = rowsOf(answer['files'] ?? [])[0] ?? {}
      if (status === 'refused') throw new CommandError('refused', textOf(problem))
      if (status === 'present') session.output.tell('the catalog already has this image with these values')
      const image =
        status === 'present'
          ? ((await listAll(api, `${path}?limit=1000`)).find((each) => each['sha256'] === sha256) ?? {})
          : await send(session.output, api, { path: path + query(parameters), file, sizeBytes, name: file })
      session.output.show(image, () => details(image))
    })

  firmware
    .command('import <folder>')
    .description(
      'upload the images that firmware.json in the folder lists; repeat it to continue an interrupted import',
    )
    .option('--dry-run', 'check everything, and change nothing')
    .action(async (folder: string, { dryRun }: { dryRun?: true }, command) => {
      const { session, api, path } = await enter(open, command)
      const { output } = session
      const onResult = (result: ImportResult): void => output.show({ ...result }, () => resultText(result))
      const importer: Importer = {
        check: (files) => api.post(`${path}/check`, { files: files.map((file) => ({ ...file })) }),
        async upload({ path: file, sizeBytes, name, query: parameters }) {
          await send(output, api, { path: path + query(parameters), file, sizeBytes, name })
        },
      }
      await importFirmware(importer, { folder, dryRun: dryRun === true, onResult })
    })
}

async function enter(
  open: (command: Command) => Session,
  command: Command,
): Promise<{ readonly session: Session; readonly api: Api; readonly path: string }> {
  const session = open(command)
  const api = await session.connect()
  return { session, api, path: `/api/v1/orgs/${await session.orgId(api)}/firmware` }
}

function versionsOf({ sha256 = null, size, versions = [], packages = [] }: JsonObject): JsonObject[] {
  const MB = Math.round(Number(size) / (BYTES_PER_MB / 10)) / 10
  return [...rowsOf(versions), ...rowsOf(packages)].map(({ model, package: name, version, tag, channel }) => {
    return {
      model: model ?? name ?? null,
      version: version ?? null,
      tag: tag ?? null,
      channel: channel ?? null,
      MB,
      sha256,
    }
  })
}

function withValues<T extends string | true>(
  values: Readonly<Record<string, T | undefined>>,
): Readonly<Record<string, T>> {
  return Object.fromEntries(
    Object.entries(values).flatMap(([name, value]) => (value === undefined ? [] : [[name, value]])),
  )
}

interface Sent {
  /** With the parameters of the upload. */
  readonly path: string
  readonly file: string
  readonly sizeBytes: number
  readonly name: string
}

/** Uploads a file and shows the progress. @returns The image. */
async function send(output: Output, api: Api, { path, file, sizeBytes, name }: Sent): Promise<JsonObject> {
  const shares = output.isLive ? SHARES_IN_PLACE : SHARES_IN_LINES
  const whole = (sizeBytes / BYTES_PER_MB).toFixed(1)
  const onProgress = (sentBytes: number): void => {
    const share = Math.floor((sentBytes / sizeBytes) * shares) / shares
    output.progress(`${bar(share)}  of ${whole} MB  ${name}`)
  }
  try {
    const { existed: _existed, ...image } = objectOf(await api.upload(path, { path: file, sizeBytes, onProgress }))
    return image
  } finally {
    output.endProgress()
  }
}

function resultText({ file, status, problem }: ImportResult): string {
  return `${status.padEnd(8)}  ${textOf(file)}${problem === undefined ? '' : `: ${problem}`}`
}

async function sizeOf(file: string): Promise<number> {
  const found = await stat(file).catch((error: unknown) => {
    throw new CommandError('usage', messageOf(error))
  })
  if (!found.isFile()) throw new CommandError('usage', `${file} is not a regular file`)
  return found.size
}
