import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { Type } from 'typebox'
import { pageQuery, parsePage, setPageHeaders } from '../../http/lists/lists.ts'
import type { Context } from '../../platform/context.ts'
import type { StorageLimits } from '../config/config-storage.ts'
import type { Storage } from '../storage.ts'
import { getTotalStorage, listOrgStorage } from './store-storage.ts'

/** Disk space that uploads use, and its limits; organizations by their use, page by page. */
export function storageRoutes(ctx: Context, { disk, settings }: Storage): FastifyPluginAsyncTypebox {
  return async (http) => {
    http.get('/storage', { schema: { hide: true, querystring: Type.Object(pageQuery) } }, async ({ query }, reply) => {
      const page = parsePage(query)
      const found = await listOrgStorage(ctx.db, page)
      setPageHeaders(reply, page, found)
      const { firmwareBytes, pictureBytes, supportBytes } = await getTotalStorage(ctx.db)
      const { freeBytes, reserveBytes } = await disk.getState()
      return {
        disk: { free_bytes: freeBytes, reserve_bytes: reserveBytes },
        firmware: presentUsage(firmwareBytes, settings.firmware),
        pictures: presentUsage(pictureBytes, settings.pictures),
        support: presentUsage(supportBytes, settings.support),
        orgs: found.rows.map((org) => ({
          id: org.id,
          name: org.name,
          firmware_bytes: org.firmwareBytes,
          picture_bytes: org.pictureBytes,
          support_bytes: org.supportBytes,
        })),
      }
    })
  }
}

function presentUsage(usedBytes: number, { orgMaxBytes, totalMaxBytes }: StorageLimits): Record<string, number> {
  return { used_bytes: usedBytes, max_bytes: totalMaxBytes, org_max_bytes: orgMaxBytes }
}
