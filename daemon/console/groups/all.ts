/** The lists, topics, tags and segments that forms offer: all of them, at most 1,000 of each. */
import { allOf, answerOf, api } from '../api.ts'

const page = (cursor: string | undefined) => ({ per_page: 100, ...(cursor && { cursor }) })

export const allLists = () => allOf((cursor) => answerOf(api.GET('/api/v1/lists', { params: { query: page(cursor) } })))

export const allTags = () => allOf((cursor) => answerOf(api.GET('/api/v1/tags', { params: { query: page(cursor) } })))

export const allSegments = () =>
  allOf((cursor) => answerOf(api.GET('/api/v1/segments', { params: { query: page(cursor) } })))

export const topicsOf = (listId: number) =>
  allOf((cursor) =>
    answerOf(api.GET('/api/v1/lists/{listId}/topics', { params: { path: { listId }, query: page(cursor) } })),
  )
