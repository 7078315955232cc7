import { org } from '../../http/at.ts'
import { type Operation, operation } from '../../http/operation.ts'
import { Empty, Uuid } from '../../http/schemas.ts'
import { kinds } from '../kinds.ts'
import { approveOrgUpgrade } from './approve-org-upgrade.ts'
import { cancelOrgUpgrade } from './cancel-org-upgrade.ts'
import { excludeDevices } from './exclude-devices.ts'
import { pauseOrgUpgrade } from './pause-org-upgrade.ts'
import { resumeOrgUpgrade } from './resume-org-upgrade.ts'
import { retryOrgUpgrade } from './retry-org-upgrade.ts'
import { ApproveBody, parseApproval } from './wire-approve.ts'
import { ExcludeBody, ExcludeReply, parseExclusion, presentExclusion } from './wire-exclude.ts'
import { RetryBody, RetryReply, parseRetry, presentRetry } from './wire-retry.ts'

const tag = 'Upgrades'
const params = { upgrade_id: Uuid }

/** All but `cancel` are our own: the interface has no way to resume a paused upgrade. */
const plainChanges = [
  { name: 'cancel', verb: 'Cancel', state: '', change: cancelOrgUpgrade },
  { name: 'pause', verb: 'Pause', state: '', change: pauseOrgUpgrade },
  { name: 'resume', verb: 'Resume', state: ' that is paused or held', change: resumeOrgUpgrade },
]

/** Changes of upgrades by a person. Upgrades of SSR routers have no gates, so they need no approval. */
export const upgradeChangeOperations: Operation[] = [
  ...kinds.flatMap(({ kind, path, name: noun, words }) => {
    const one = `${path}/:upgrade_id` as const
    return [
      ...plainChanges.map(({ name, verb, state, change }) =>
        operation({
          id: `${name}Org${noun}Upgrade`,
          summary: `${verb} an upgrade${words}${state}`,
          method: 'POST',
          tag,
          at: org(`${one}/${name}`, { needs: 'write' }),
          params,
          reply: Empty,
          run: (ctx, { scope, params: { upgrade_id: id } }) => change(ctx, scope, id, kind),
        }),
      ),
      operation({
        id: `retryOrg${noun}Upgrade`,
        summary: `Retry the failed devices of an upgrade${words}`,
        method: 'POST',
        tag,
        at: org(`${one}/retry`, { needs: 'write' }),
        params,
        body: RetryBody,
        reply: RetryReply,
        run: async (ctx, { scope, params: { upgrade_id: id }, body }) =>
          presentRetry(await retryOrgUpgrade(ctx, scope, { id, kind, macs: parseRetry(body) })),
      }),
      operation({
        id: `excludeOrg${noun}Upgrade`,
        summary: `Exclude devices from an upgrade${words}`,
        method: 'POST',
        tag,
        at: org(`${one}/exclude`, { needs: 'write' }),
        params,
        body: ExcludeBody,
        reply: ExcludeReply,
        run: async (ctx, { scope, params: { upgrade_id: id }, body }) =>
          presentExclusion(await excludeDevices(ctx, scope, { id, kind, ...parseExclusion(body) })),
      }),
    ].flat()
  }),
  ...operation({
    id: 'approveOrgDeviceUpgrade',
    summary: 'Approve a phase of an upgrade, so that the next one opens',
    method: 'POST',
    tag,
    at: org('/devices/upgrade/:upgrade_id/approve', { needs: 'write' }),
    params,
    body: ApproveBody,
    reply: Empty,
    run: (ctx, { scope, params: { upgrade_id: id }, body }) => approveOrgUpgrade(ctx, scope, parseApproval(id, body)),
  }),
]
