import { Type } from 'typebox'
import { Value } from 'typebox/value'
import { AppError } from '../platform/errors.ts'
import type { Client } from './client.ts'
import { MANIFEST, type ManifestFile, readManifest } from './firmware-manifest.ts'

export interface ImportOptions {
  readonly folder: string
  readonly orgId: string
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
 * @throws AppError if a file can't be imported.
 */
export async function importFirmware(client: Client, options: ImportOptions): Promise<void> {
  const { folder, orgId, dryRun, onResult } = options
  const files = await readManifest(folder)
  const results = await check(client, orgId, files)
  const refused = results.filter(({ status }) => status === 'refused')
  if (dryRun || refused.length > 0) results.forEach(onResult)
  if (refused.length > 0) {
    const which = `${refused.length} of the ${files.length} files in ${MANIFEST} can't be imported`
    throw new AppError('invalid', `${which}; nothing was changed`)
  }
  if (dryRun) return
  for (const [index, file] of files.entries()) {
    const status = results[index]?.status
    if (status !== 'present') await upload(client, orgId, file)
    onResult({ file: file.name, status: status === 'new' ? 'imported' : status === 'changed' ? 'updated' : 'present' })
  }
}

/** Requests the server's decision about the valid files. */
async function check(client: Client, orgId: string, files: readonly ManifestFile[]): Promise<ImportResult[]> {
  const sound = files.filter(({ problem }) => problem === null)
  const body = { files: sound.map(({ sha256, sizeBytes: size, query }) => ({ sha256, size, query })) }
  const answer = await client.call('POST', `/operator/v1/orgs/${encodeURIComponent(orgId)}/firmware/check`, body)
  const checked = new Map(Value.Parse(Checked, answer).files.map((result, index) => [sound[index], result]))
  return files.map((file) => {
    if (file.problem !== null) return { file: file.name, status: 'refused', problem: file.problem }
    const result = checked.get(file)
    if (result === undefined) throw new AppError('invalid', `The server did not check ${file.name}`)
    return { file: file.name, ...result }
  })
}

async function upload(client: Client, orgId: string, file: ManifestFile): Promise<void> {
  const values = Object.entries(file.query).map(([name, value]): [string, string] => [name, String(value)])
  const query = new URLSearchParams(values).toString()
  await client
    .uploadFile(`/operator/v1/orgs/${encodeURIComponent(orgId)}/firmware?${query}`, file)
    .catch((error: unknown) => {
      if (!(error instanceof AppError)) throw error
      throw new AppError(error.code, `${file.name}: ${error.message}; repeat the import to continue with this file`)
    })
}
