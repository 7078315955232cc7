import { org, site } from '../http/at.ts'
import type { StreamPart } from '../http/stream/channel.ts'
import type { Mxedge } from './mxedge.ts'
import { presenterRevealing } from './routes.ts'
import { statsPresenterOf } from './stats/routes.ts'
import { listMxedgesById } from './store.ts'

const needs = { needs: 'read' } as const
const reveal = { written: {} }

/** Live changes of edge appliances, of an organization and of a site. Source: contract notes, "Live updates". */
export const mxedgeStream: StreamPart = {
  channels: [
    { at: org('/mxedges', needs), kinds: ['mxedge', 'mxedge_left'] },
    { at: site('/mxedges', needs), kinds: ['mxedge', 'mxedge_left'] },
    { at: org('/stats/mxedges', needs), kinds: ['mxedge_stats'] },
    { at: site('/stats/mxedges', needs), kinds: ['mxedge_stats'] },
  ],
  sources: [
    {
      kind: 'mxedge',
      async read(ctx, scope, ids) {
        const mxedges = await listMxedgesById(ctx.db, scope, ids)
        const present = await presenterRevealing(ctx, { reveal, scope }, mxedges)
        return mxedges.map((mxedge) => ({ channels: channelsOf(mxedge, '/mxedges'), data: present(mxedge) }))
      },
    },
    {
      kind: 'mxedge_left',
      read: (_ctx, { orgId }, ids) =>
        ids.map((left) => {
          const [siteId = '', id = ''] = left.split('/')
          const place = siteId === '' ? `/orgs/${orgId}` : `/sites/${siteId}`
          return { channels: [`${place}/mxedges`], data: { id, deleted: true } }
        }),
    },
    {
      kind: 'mxedge_stats',
      async read(ctx, scope, ids) {
        const mxedges = await listMxedgesById(ctx.db, scope, ids)
        const present = await statsPresenterOf(ctx, scope, mxedges)
        return mxedges.map((mxedge) => ({ channels: channelsOf(mxedge, '/stats/mxedges'), data: present(mxedge) }))
      },
    },
  ],
}

function channelsOf({ orgId, siteId }: Mxedge, path: string): string[] {
  return [`/orgs/${orgId}${path}`, ...(siteId === null ? [] : [`/sites/${siteId}${path}`])]
}
