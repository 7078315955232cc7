import { firmwareDownloadUrl } from '../../firmware/downloads/download-url.ts'
import { type ImageFile, listImageFiles } from '../../firmware/storage/store-image-files.ts'
import { addMs } from '../../platform/time/clock.ts'
import type { Context } from '../../platform/context.ts'
import type { Rejection } from '../driver.ts'

/** An image as a device can download and check it. */
export interface Artifact extends ImageFile {
  /** Signed, with a time limit: anyone with the address may download. */
  readonly uri: string
}

/** A command with the file of its image, if it has an image that exists. */
export type WithImage<C> = C & { readonly image?: ImageFile | undefined }

interface CommandOfImage {
  readonly orgId: string
  readonly id: string
  readonly params: object
}

/** Reads the files of the images that commands name in `params.image_id`, for all of them in one query. */
export async function addImages<C extends CommandOfImage>(
  ctx: Context,
  commands: readonly C[],
): Promise<WithImage<C>[]> {
  const wanted = commands.flatMap((command) => {
    const id = imageIdOf(command)
    return id === null ? [] : [{ orgId: command.orgId, id }]
  })
  const images = wanted.length === 0 ? new Map<string, ImageFile>() : await listImageFiles(ctx.db, wanted)
  return commands.map((command) => ({ ...command, image: images.get(imageIdOf(command) ?? '') }))
}

/** Returns null for a command that has no image, or whose image no longer exists. */
export function artifactOf(
  ctx: Pick<Context, 'secrets' | 'baseUrl' | 'clock'>,
  command: WithImage<CommandOfImage>,
  lifeMs: number,
): Artifact | null {
  const imageId = imageIdOf(command)
  if (imageId === null || command.image === undefined) return null
  const ticket = { orgId: command.orgId, commandId: command.id, imageId }
  return { ...command.image, uri: firmwareDownloadUrl(ctx, ticket, addMs(ctx.clock.now(), lifeMs)) }
}

function imageIdOf({ params }: CommandOfImage): string | null {
  return 'image_id' in params && typeof params.image_id === 'string' ? params.image_id : null
}

export const imageDeleted: Rejection = {
  kind: 'rejected',
  code: 'image_deleted',
  text: 'The image no longer exists',
  final: true,
}
