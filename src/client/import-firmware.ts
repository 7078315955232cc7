import { Type } from 'typebox'
import { Value } from 'typebox/value'
import { CommandError } from './exit-codes.ts'
import { MANIFEST, type ManifestFile, readManifest } from './firmware-manifest.ts'

/** The server of an import, called by the public interface or by the operator's. */
export interface Importer {
  /** Requests the results that uploads of the files would have. @throws CommandError with the server's own text. */
  check(files: readonly Candidate[]): Promise<unknown>
  /** @throws CommandError with the server's own text. */
  upload(file: ManifestFile): Promise<void>
}

export interface Candidate {
  readonly sha256: string
  readonly size: number
  readonly query: ManifestFile['query']
}

export interface ImportOptions {
  readonly folder: string
  /** Checks everything, and changes nothing. */
  readonly dryRun: boolean
  readonly onResult: (result: ImportResult) => void
}

export interface ImportResult {
  readonly file: string
  /** `new`, `changed`: what an import would do; `imported`, `updated`: what it did. */
  readonly status: 'present' | 'new' | 'changed' | 'imported' | 'updated' | 'refused'
  readonly problem?: string
}

const Checked = Type.Object({
  files: Type.Array(
    Type.Object({
      status: Type.Enum(['present', 'new', 'changed', 'refused']),
      problem: Type.Optional(Type.String()),
    }),
  ),
})

/**
 * Imports the images of a folder. Nothing is changed before every file has been checked, here and by the server. Files
 * that are already stored are left unchanged, so repeating the import continues an interrupted one.
 * @throws CommandError if a file can't be imported.
 */
export async function importFirmware(importer: Importer, options: ImportOptions): Promise<void> {
  const { folder, dryRun, onResult } = options
  const files = await readManifest(folder)
  const results = await check(importer, files)
  const refused = results.filter(({ status }) => status === 'refused')
  if (dryRun || refused.length > 0) results.forEach(onResult)
  if (refused.length > 0) {
    const which = `${refused.length} of the ${files.length} files in ${MANIFEST} can't be imported`
    throw new CommandError('refused', `${which}; nothing was changed`)
  }
  if (dryRun) return
  for (const [index, file] of files.entries()) {
    const status = results[index]?.status
    if (status !== 'present') await upload(importer, file)
    onResult({ file: file.name, status: status === 'new' ? 'imported' : status === 'changed' ? 'updated' : 'present' })
  }
}

/** Requests the server's decision about the valid files. */
async function check(importer: Importer, files: readonly ManifestFile[]): Promise<ImportResult[]> {
  const sound = files.filter(({ problem }) => problem === null)
  const results = await requestCheck(importer, sound)
  const checked = new Map(results.map((result, index) => [sound[index], result]))
  return files.map((file) => {
    if (file.problem !== null) return { file: file.name, status: 'refused', problem: file.problem }
    const result = checked.get(file)
    if (result === undefined) throw new CommandError('unavailable', `The server did not check ${file.name}`)
    return { file: file.name, ...result }
  })
}

async function requestCheck(
  importer: Importer,
  files: readonly ManifestFile[],
): Promise<Type.Static<typeof Checked>['files']> {
  const answer = await importer.check(files.map(({ sha256, sizeBytes: size, query }) => ({ sha256, size, query })))
  if (Value.Check(Checked, answer)) return answer.files
  throw new CommandError('unavailable', 'The server does not answer as Signalbox does')
}

async function upload(importer: Importer, file: ManifestFile): Promise<void> {
  try {
    await importer.upload(file).catch(async (error: unknown) => {
      // If the server refuses a file before its end, the connection may break before the reason arrives.
      if (!(error instanceof CommandError) || error.outcome !== 'unavailable') throw error
      const [result] = await requestCheck(importer, [file])
      throw result?.problem === undefined ? error : new CommandError('refused', result.problem)
    })
  } catch (error) {
    if (!(error instanceof CommandError)) throw error
    throw new CommandError(
      error.outcome,
      `${file.name}: ${error.message}; repeat the import to continue with this file`,
    )
  }
}
