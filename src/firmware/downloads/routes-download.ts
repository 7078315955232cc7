import type { Readable } from 'node:stream'
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { Context } from '../../platform/context.ts'
import { notFound } from '../../platform/errors.ts'
import { downloadImage, nameImageFile } from './download-image.ts'
import type { DownloadLimits } from './download-limits.ts'
import { createDownloadRecords } from './download-records.ts'
import { openDownloadTicket } from './download-url.ts'
import { createDownloadPlaces } from './download-places.ts'
import type { ImagePlace } from '../firmware.ts'
import { parseRange } from './range.ts'
import { createSharedFiles } from './shared-files.ts'
import { createSitePace } from './site-pace.ts'
import { DownloadParams } from '../wire.ts'

/** A device that accepts no data for this long counts as gone, even if its socket is open. */
const IDLE_MS = 60_000

/**
 * Serves images to devices, outside /api/v1 and without credentials, because the signed path is one. Register it
 * without a prefix. See download-url.ts and download-image.ts.
 */
export function firmwareDownloadRoutes(
  ctx: Context,
  place: ImagePlace,
  limits: DownloadLimits,
): FastifyPluginAsyncTypebox {
  return async (http) => {
    const sending = new Set<Readable>()
    const places = createDownloadPlaces(limits, () => ctx.crowding.note())
    const pace = createSitePace(limits.siteBytesPerS)
    const records = createDownloadRecords(ctx)
    const files = { ...place, shared: createSharedFiles() }
    // A stop does not wait for the slowest device: devices resume an interrupted download.
    http.addHook('preClose', async () => sending.forEach((body) => body.destroy()))
    http.addHook('onClose', () => records.stop())

    // The downloader of some switches ignores the status and would take the body of a refusal for the image.
    http.addHook('onSend', (_request, reply, payload, done) => {
      if (reply.statusCode < 400) return done(null, payload)
      void reply.removeHeader('content-type').removeHeader('content-length')
      done(null, '')
    })

    http.route({
      method: ['GET', 'HEAD'],
      exposeHeadRoute: false,
      url: '/firmware/:org_id/:command_id/:image_id/:expires/:signature',
      schema: { hide: true, params: DownloadParams },
      handler: async (request, reply) => {
        const ticket = openDownloadTicket(ctx, request.params)
        const image = await records.find(ticket)
        if (image === undefined) throw notFound(ticket.imageId)
        const { sha256, sizeBytes } = image
        const etag = `"${sha256}"`
        const ifRange = request.headers['if-range']
        const wanted = ifRange === undefined || ifRange === etag ? request.headers.range : undefined
        const range = parseRange(wanted, sizeBytes)
        void reply.headers({ 'accept-ranges': 'bytes', 'cache-control': 'private, no-transform', etag })
        if (range === 'unsatisfiable') return reply.code(416).header('content-range', `bytes */${sizeBytes}`).send()
        void reply.header('content-disposition', nameImageFile(image, ticket))
        const part = range === 'whole' ? { start: 0, end: sizeBytes - 1 } : range
        const onDelay = (): void => void reply.raw.setTimeout(IDLE_MS)
        const download = { files, ticket, range: part, image, records, pace, limits, onDelay }
        const body = request.method === 'HEAD' ? null : await places.within(ticket, () => downloadImage(ctx, download))
        // From here on, no failure can change the length of the body.
        void reply.headers({ 'content-type': 'application/octet-stream', 'content-length': part.end - part.start + 1 })
        if (range !== 'whole')
          void reply.code(206).header('content-range', `bytes ${part.start}-${part.end}/${sizeBytes}`)
        if (body === null) return reply.send()
        sending.add(body)
        body.once('close', () => sending.delete(body))
        reply.raw.setTimeout(IDLE_MS)
        return reply.send(body)
      },
    })
  }
}
