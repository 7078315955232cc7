import { orgAndSite } from '../../http/at.ts'
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

const tag = { org: 'Upgrades', site: 'Upgrades' } as const
const params = { upgrade_id: Uuid }

/** All but `cancel` are our own: the interface has no way to resume a paused upgrade. */
const plainChanges = [
  { name: 'cancel', verb: 'Cancel', state: '', run: cancelOrgUpgrade },
  { name: 'pause', verb: 'Pause', state: '', run: pauseOrgUpgrade },
  { name: 'resume', verb: 'Resume', state: ' that is paused or held', run: resumeOrgUpgrade },
]

/** Changes of upgrades by a person, in the organization or at one site. */
export const upgradeChangeOperations: Operation[] = kinds
  .flatMap(({ kind, path, name: noun, words }) => {
    const change = (name: string, what: string, after = '') => ({
      id: { org: `${name}Org${noun}Upgrade`, site: `${name}Site${noun}Upgrade` },
      summary: { org: `${what} an upgrade${words}${after}`, site: `${what} an upgrade${words} of a site${after}` },
      method: 'POST' as const,
      tag,
      at: orgAndSite(`${path}/:upgrade_id/${name}`, { needs: 'write' }),
      params,
    })
    return [
      plainChanges.flatMap(({ name, verb, state, run }) =>
        operation({
          ...change(name, verb, state),
          reply: Empty,
          run: (ctx, { scope, params: { upgrade_id: id } }) => run(ctx, scope, id, kind),
        }),
      ),
      operation({
        ...change('retry', 'Retry the failed devices of'),
        body: RetryBody,
        reply: RetryReply,
        run: async (ctx, { scope, params: { upgrade_id: id }, body }) =>
          presentRetry(await retryOrgUpgrade(ctx, scope, { id, kind, macs: parseRetry(body) })),
      }),
      operation({
        ...change('exclude', 'Exclude devices from'),
        body: ExcludeBody,
        reply: ExcludeReply,
        run: async (ctx, { scope, params: { upgrade_id: id }, body }) =>
          presentExclusion(await excludeDevices(ctx, scope, { id, kind, ...parseExclusion(body) })),
      }),
      operation({
        ...change('approve', 'Approve a phase of', ', so that the next one opens'),
        body: ApproveBody,
        reply: Empty,
        run: (ctx, { scope, params: { upgrade_id: id }, body }) =>
          approveOrgUpgrade(ctx, scope, { ...parseApproval(id, body), kind }),
      }),
    ]
  })
  .flat()
