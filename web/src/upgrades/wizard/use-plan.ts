import { useMutation } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import { answerOf, useServer } from '../../api/client.ts'
import { Problem } from '../../api/problem.ts'
import { type Draft, type UpgradeRequest, requestOf } from './draft.ts'
import { type Preview, changesIn } from './plan-summary.ts'

/** Plans an upgrade, and starts it as it was planned. */
export function usePlan(orgId: string, draft: Draft) {
  const { api } = useServer()
  const navigate = useNavigate()
  const path = '/api/v1/orgs/{org_id}/devices/upgrade'
  const params = { path: { org_id: orgId } }
  const request = requestOf(draft)
  const preview = useMutation({
    async mutationFn(body: UpgradeRequest): Promise<Preview> {
      const plan = await answerOf(api.POST(path, { params, body: { ...body, dry_run: true } }))
      if (!('plan_id' in plan)) throw new Error('The answer to a preview is no plan')
      return plan
    },
  })
  const start = useMutation({
    async mutationFn(planId: string): Promise<string> {
      const started = await answerOf(api.POST(path, { params, body: { plan_id: planId } }))
      if (!('id' in started)) throw new Error('The answer to a start is no upgrade')
      return started.id
    },
    onSuccess: (upgradeId) => navigate({ to: '/orgs/$orgId/upgrades/$upgradeId', params: { orgId, upgradeId } }),
    onError(error) {
      // The fleet has changed: a new plan is made and shown with the changes.
      if (error instanceof Problem && error.status === 409) preview.mutate(request)
    },
  })
  const isCurrent = JSON.stringify(preview.variables) === JSON.stringify(request)
  return {
    plan: isCurrent ? preview.data : undefined,
    /** The server's refusal, until the draft changes. */
    problem: isCurrent ? preview.error : null,
    changes: start.error instanceof Problem ? changesIn(start.error.body) : null,
    isPlanning: preview.isPending,
    previewPlan: () => {
      start.reset()
      preview.mutate(request)
    },
    startPlan: (planId: string) => start.mutateAsync(planId),
  }
}
