// Package picture makes pictures fit for models: not larger than a model looks at, and the right way up.
//
// A picture that fits already is given as it is; only its head is read for that. Others are decoded, turned, scaled and encoded as JPEG.
// Pictures come from strangers: the size that the head claims is checked before anything is decoded, one picture is decoded at a time, and
// what has been made is kept within a bound, because a picture is sent again with each completion.
package picture
