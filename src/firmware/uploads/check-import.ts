import type { OrgScope } from '../../access/scope.ts'
import type { Context } from '../../platform/context.ts'
import { AppError } from '../../platform/errors.ts'
import { uploadTooLarge } from '../../platform/storage/uploads.ts'
import { checkSignature } from './check-signature.ts'
import type { FirmwareFiles } from '../firmware.ts'
import { listPackages } from '../packages/store.ts'
import { type ImportFile, type ImportStep, planImport } from './plan-import.ts'
import { listImagesByHash, listVersions } from '../store.ts'

interface SizedFile extends ImportFile {
  readonly sizeBytes: number
}

/** A file with valid metadata, or the error in its metadata. */
export type CheckedFile = SizedFile | AppError

/**
 * Decides what an import would change, without changing anything. The space is checked for all new files together.
 * @throws AppError as UploadQuota.reserve(), where space is the only reason not to import.
 */
export async function checkImport(
  ctx: Context,
  scope: OrgScope,
  { files, given }: { readonly files: FirmwareFiles; readonly given: readonly CheckedFile[] },
): Promise<ImportStep[]> {
  const checked = given.map((file) => checkFile(files, file))
  const sound = checked.filter((file): file is SizedFile => !(file instanceof AppError))
  const catalog = {
    images: await listImagesByHash(
      ctx.db,
      scope,
      sound.map(({ sha256 }) => sha256),
    ),
    versions: await listVersions(ctx.db, scope),
    packages: await listPackages(ctx.db, scope),
  }
  const planned = planImport(catalog, sound)
  const stepOf = new Map(sound.map((file, index) => [file, planned[index]]))
  const steps = checked.flatMap((file): ImportStep[] => {
    if (file instanceof AppError) return [{ kind: 'refused', problem: file.message }]
    const step = stepOf.get(file)
    return step === undefined ? [] : [step]
  })
  if (steps.every(({ kind }) => kind !== 'refused')) {
    const neededBytes = sound.filter((_, index) => planned[index]?.kind === 'new').map(({ sizeBytes }) => sizeBytes)
    const declaredBytes = neededBytes.reduce((sum, bytes) => sum + bytes, 0)
    const reservation = await files.quota.reserve({ orgId: scope.orgId, declaredBytes })
    reservation.release()
  }
  return steps
}

function checkFile({ maxBytes, trust }: FirmwareFiles, file: CheckedFile): CheckedFile {
  if (file instanceof AppError) return file
  if (file.sizeBytes > maxBytes) return uploadTooLarge(maxBytes)
  try {
    checkSignature(trust, file)
    return file
  } catch (error) {
    if (error instanceof AppError) return error
    throw error
  }
}
