// Package view is what the handlers of the API share: which objects a caller may know of, who the caller is for the router,
// and the shape of lists, files, routes and times in responses.
package view
