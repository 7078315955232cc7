import type { OrgScope } from '../access/scope.ts'
import { appendAudit } from '../events/append.ts'
import type { Context } from '../platform/context.ts'
import { inTx } from '../platform/database/db.ts'
import { AppError, notFound } from '../platform/errors.ts'
import type { CatalogImage, FirmwareFiles, FindImageUser } from './firmware.ts'
import { removeImageFile } from './storage/storage.ts'
import { deleteImage, findImage, findImageUser, lockImageForDelete } from './store.ts'

/**
 * Deletes an image and its catalog entries; its file is removed after the commit.
 * @throws AppError not_found; conflict while an upgrade uses it.
 */
export async function deleteFirmware(
  ctx: Context,
  scope: OrgScope,
  {
    files,
    users,
    imageId,
  }: { readonly files: FirmwareFiles; readonly users: readonly FindImageUser[]; readonly imageId: string },
): Promise<void> {
  await inTx(ctx, async (tx) => {
    if (!(await lockImageForDelete(tx, scope, imageId))) throw notFound(imageId)
    for (const findUser of [findImageUser, ...users]) {
      const reason = await findUser(tx, scope, imageId)
      if (reason !== null) throw new AppError('conflict', reason)
    }
    const image = await findImage(tx, scope, imageId)
    await deleteImage(tx, scope, imageId)
    await appendAudit(tx, scope, {
      message: `Delete firmware ${image === undefined ? '' : offersOf(image).join(', ')}`,
      before: { id: imageId, versions: image?.versions, packages: image?.packages },
      at: ctx.clock.now(),
    })
  })
  await removeImageFile(files, imageId)
}

function offersOf({ versions, packages }: CatalogImage): string[] {
  return [
    ...versions.map(({ model, version }) => `${version} for ${model}`),
    ...packages.map(
      ({ package: name, version, distro }) => `${name} ${version}${distro === null ? '' : ` for ${distro}`}`,
    ),
  ]
}
