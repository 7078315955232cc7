import { useMutation } from '@tanstack/react-query'
import { useRef, useState } from 'react'
import { useServer } from '../../api/client.ts'
import { uploadFile } from '../../api/upload.ts'

interface UploadParts<Answer> {
  /** Path and query, and what is sent. */
  readonly requestOf: (form: FormData) => { readonly path: string; readonly file: Blob | FormData }
  readonly onStored: (answer: Answer) => Promise<unknown>
}

/** An upload that can be ended; `share` is the share that has been sent, null while nothing is. */
export function useUpload<Answer>({ requestOf, onStored }: UploadParts<Answer>) {
  const server = useServer()
  const [share, setShare] = useState<number | null>(null)
  const controller = useRef<AbortController>(null)
  const upload = useMutation({
    async mutationFn(form: FormData) {
      controller.current = new AbortController()
      setShare(0)
      const { signal } = controller.current
      return (await uploadFile(server, { ...requestOf(form), signal, onProgress: setShare })) as Answer
    },
    onSettled: () => setShare(null),
    onSuccess: onStored,
  })
  return { upload, share, end: () => controller.current?.abort() }
}
